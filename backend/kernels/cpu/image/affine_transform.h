#pragma once

namespace nyala {

class KernelTable;

/// Images that are moved by transforms, on all cores.
void register_affine_transform(KernelTable& table);

}  // namespace nyala
