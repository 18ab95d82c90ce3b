// An optimizer's step is one pass over a whole segment of the arena: gradient, weight and slots of an element
// are read and written once, whatever the formula. The formulas (update_formulas.h) are one-element functions
// that the compiler vectorises; the same loops are compiled three times, each unit with another set of
// instructions.
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/update/optimizer_updates.h>
#include <nyala/backend/kernels/cpu/update/update_loops.h>

namespace nyala {

void register_optimizer_updates(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add_optimizer_updates_avx512(table);
  if (cpu_level() >= CpuLevel::avx2) add_optimizer_updates_avx2(table);
  add_update_kernels(table, "baseline");
}

}  // namespace nyala
