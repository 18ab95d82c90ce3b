#include <nyala/backend/kernels/cuda/list.h>

namespace nyala {

// There is no GPU to run any (backend/runtime/no_cuda.cpp).
void register_cuda_kernels(KernelTable&) {}

}  // namespace nyala
