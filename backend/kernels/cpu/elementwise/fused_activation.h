#pragma once

namespace nyala {

class KernelTable;

/// Gradients of fused activations and biases, by own vector loops.
void register_fused_activation(KernelTable& table);

}  // namespace nyala
