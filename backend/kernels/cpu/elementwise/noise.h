#pragma once

namespace nyala {

class KernelTable;

/// Normal noise on several threads.
void register_noise(KernelTable& table);

}  // namespace nyala
