#pragma once

namespace nyala {

class KernelTable;

/// Broadcasting arithmetic, activations and casts of float32 with the vector instructions of this CPU.
void register_elementwise(KernelTable& table);

/// Sums and means of float32 over one block of neighbouring axes, and their gradient.
void register_reductions(KernelTable& table);

}  // namespace nyala
