#pragma once

#include <cstdint>

#include <nyala/files/hdf5/metadata/links.h>

namespace nyala::hdf5 {

/// Adds the links of an old-style group: a version 1 B-tree of symbol nodes (SNOD) whose names lie in a
/// local heap. Throws Fault.
void read_symbol_table(const Image& image, uint64_t tree_address, uint64_t heap_address, Links& links);

}  // namespace nyala::hdf5
