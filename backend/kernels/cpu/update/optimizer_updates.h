#pragma once

namespace nyala {

class KernelTable;

/// Optimizer formulas, moving averages and norms, by the vector instructions of this CPU and its threads.
void register_optimizer_updates(KernelTable& table);

void add_optimizer_updates_avx2(KernelTable& table);
void add_optimizer_updates_avx512(KernelTable& table);

}  // namespace nyala
