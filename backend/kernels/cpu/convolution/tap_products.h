#pragma once

namespace nyala {

class KernelTable;

/// Convolutions of small images by many channels as one product of matrices for each tap: taps beside the
/// image are left out, which the blocks of oneDNN cannot.
void register_tap_products(KernelTable& table);

}  // namespace nyala
