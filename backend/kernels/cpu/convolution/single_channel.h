#pragma once

namespace nyala {

class KernelTable;

/// conv2d of images with one channel, by own loops.
void register_single_channel(KernelTable& table);

}  // namespace nyala
