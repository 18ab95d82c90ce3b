#pragma once

namespace nyala {

class KernelTable;

/// Matrix products of dense and its gradients, by oneDNN.
void register_dense(KernelTable& table);

}  // namespace nyala
