#pragma once

namespace nyala {

class KernelTable;

/// Resizing of images and its transposed map, rows before columns.
void register_resize_images(KernelTable& table);

}  // namespace nyala
