#include <nyala/backend/kernels/cpu/update/optimizer_updates.h>
#include <nyala/backend/kernels/cpu/update/update_loops.h>

namespace nyala {

void add_optimizer_updates_avx512(KernelTable& table) { add_update_kernels(table, "avx512"); }

}  // namespace nyala
