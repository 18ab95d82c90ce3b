#pragma once

#include <cstdint>
#include <functional>

#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// Receives element `index` of a chunk array: an address, for filtered chunks followed by the stored size (as
/// many bytes as are left but 4) and the filter mask.
using VisitElement = std::function<void(uint64_t index, Cursor element)>;

/// Walks a fixed array (FAHD), pages included. Checksums are verified. Throws Fault.
void walk_fixed_array(const Image& image, uint64_t address, bool is_filtered, const VisitElement& visit);

/// Walks an extensible array (EAHD) with its secondary blocks and pages. Checksums are verified. Throws
/// Fault.
void walk_extensible_array(const Image& image, uint64_t address, bool is_filtered, const VisitElement& visit);

}  // namespace nyala::hdf5
