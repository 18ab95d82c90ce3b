#pragma once

namespace nyala {

class KernelTable;

/// Adds the CPU's fast kernels: own ones for what this CPU offers, oneDNN's where it is good.
void register_cpu_kernels(KernelTable& table);

}  // namespace nyala
