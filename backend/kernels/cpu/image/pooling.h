#pragma once

namespace nyala {

class KernelTable;

/// Maximum and average pooling with their gradients, by own vector loops.
void register_pooling(KernelTable& table);

}  // namespace nyala
