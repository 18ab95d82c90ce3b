#pragma once

#include <nyala/files/hdf5/base/image.h>

namespace nyala::hdf5 {

/// Finds the superblock (at byte 0 or after a user block of 512, 1024, ... bytes), versions 0 to 3, moves
/// image.bytes to it and sets the sizes and the address of the root group. Throws Fault; in particular for a
/// file that is shorter than it was written, or that its writer has not closed (version 3).
void read_superblock(Image& image);

}  // namespace nyala::hdf5
