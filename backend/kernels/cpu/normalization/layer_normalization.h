#pragma once

namespace nyala {

class KernelTable;

/// Layer and RMS normalization with their gradients, by own vector loops.
void register_layer_normalization(KernelTable& table);

}  // namespace nyala
