#pragma once

namespace nyala {

class KernelTable;

/// Adds the kernels of gru and its gradient.
void register_gru(KernelTable& table);

}  // namespace nyala
