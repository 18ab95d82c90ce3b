#pragma once

namespace nyala {

class KernelTable;

/// conv2d and its gradients: own kernels for few channels, else oneDNN.
void register_conv2d(KernelTable& table);

}  // namespace nyala
