#pragma once

namespace nyala {

class KernelTable;

/// Depthwise convolutions of 3 or 5 columns and stride 1 or 2, forward and both gradients.
void register_narrow_depthwise(KernelTable& table);

}  // namespace nyala
