#pragma once

namespace nyala {

class KernelTable;

/// Rows picked by index, and their gradients added in the order of the indices whatever the number of
/// threads.
void register_gather(KernelTable& table);

}  // namespace nyala
