#pragma once

namespace nyala {

class KernelTable;

/// Batch normalization with its statistics and gradients, by own vector loops.
void register_batch_normalization(KernelTable& table);

}  // namespace nyala
