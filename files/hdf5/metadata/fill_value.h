#pragma once

#include <cstddef>
#include <vector>

#include <nyala/files/hdf5/metadata/object_header.h>

namespace nyala::hdf5 {

/// The element that stands where a dataset stores nothing, as stored bytes; zeros where the file defines
/// none. Throws Fault if its size is not `element_size`.
std::vector<std::byte> read_fill_value(const ObjectHeader& header, uint64_t element_size);

}  // namespace nyala::hdf5
