#pragma once

#include <string_view>
#include <vector>

namespace nyala {

class KernelTable;
struct OpDef;

/// When an op asks which kernel.
struct KernelOrder {
  const OpDef* op;
  std::vector<std::string_view> kernels;
};

/// Ops that kernels of several files can run, and the order in which these are asked. The kernels of every
/// other op lie in one file, which adds them from the highest instruction set down.
const std::vector<KernelOrder>& cpu_kernel_orders();

/// Adds the CPU's fast kernels: own ones for what this CPU offers, oneDNN's where it is good.
void register_cpu_kernels(KernelTable& table);

}  // namespace nyala
