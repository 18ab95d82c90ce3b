#pragma once

namespace nyala {

class KernelTable;

/// dense and the gradient of its kernel for small layers, by own loops: no packing, no set-up.
void register_small_dense(KernelTable& table);

}  // namespace nyala
