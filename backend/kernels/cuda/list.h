#pragma once

namespace nyala {

class KernelTable;

/// Adds the kernels that run on GPUs; in a build without the CUDA toolkit there are none.
void register_cuda_kernels(KernelTable& table);

}  // namespace nyala
