#pragma once

namespace nyala {

class KernelTable;

/// conv2d, conv3d and their gradients by oneDNN.
void register_conv2d(KernelTable& table);

}  // namespace nyala
