#pragma once

#include <cstdint>
#include <vector>

#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// The extent of a dataset or attribute: at most Shape::kMaxRank axes.
struct Dataspace {
  bool is_null = false;             ///< has no elements at all; `sizes` is {0}
  std::vector<uint64_t> sizes;      ///< none for a scalar
  std::vector<uint64_t> max_sizes;  ///< as `sizes` where the file states none; UINT64_MAX is unlimited
  uint64_t count = 1;               ///< product of `sizes`, at most INT64_MAX
};

/// Parses a dataspace message, versions 1 and 2. Throws Fault.
Dataspace read_dataspace(Cursor body);

}  // namespace nyala::hdf5
