#pragma once

namespace nyala {

class KernelTable;

void register_winograd(KernelTable& table);

}  // namespace nyala
