#pragma once

namespace nyala {

class KernelTable;

/// conv2d and its gradients by own loops, for the few channels and filters where oneDNN is slow.
void register_direct_convolution(KernelTable& table);

}  // namespace nyala
