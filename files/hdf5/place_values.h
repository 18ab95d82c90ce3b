#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <nyala/files/hdf5/file_parts.h>

namespace nyala::hdf5 {

/// Values of datasets by their path from the root.
using NamedValues = std::map<std::string, Tensor>;

/// Gives the contiguous datasets of a file that has none of their values yet (superblock 0) a place behind
/// its end, in the order of their paths, and writes the places and the new end of the file into `head`, the
/// file's bytes, which `owner` keeps alive. Those with an attribute Dataset::kChecksum get it when they are
/// sent.
FileParts place_values(std::span<std::byte> head, std::shared_ptr<const void> owner,
                       const NamedValues& values);

}  // namespace nyala::hdf5
