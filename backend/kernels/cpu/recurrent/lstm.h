#pragma once

namespace nyala {

class KernelTable;

/// Adds the kernels of lstm and its gradient.
void register_lstm(KernelTable& table);

}  // namespace nyala
