#include <nyala/backend/kernels/cpu/list.h>
#include <nyala/backend/kernels/cuda/list.h>
#include <nyala/backend/ops/base/kernel_table.h>

namespace nyala {

void register_kernels(KernelTable& table) {
  register_cpu_kernels(table);
  register_cuda_kernels(table);
}

}  // namespace nyala
