#pragma once

namespace nyala {

class KernelTable;

/// softmax, log_softmax and sparse categorical crossentropy from logits, with their gradients, by own vector
/// loops.
void register_softmax(KernelTable& table);

}  // namespace nyala
