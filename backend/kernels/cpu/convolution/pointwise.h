#pragma once

namespace nyala {

class KernelTable;

/// Gradients of convolutions with kernels of one pixel as products of matrices, where oneDNN's convolutions
/// are slower than its products.
void register_pointwise(KernelTable& table);

}  // namespace nyala
