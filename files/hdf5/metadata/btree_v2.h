#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// The record types that reading needs.
enum class BTreeV2Type : uint8_t {
  huge_objects = 1,
  link_names = 5,
  attribute_names = 8,
  chunks = 10,
  filtered_chunks = 11,
};

/// Walks a version 2 B-tree in key order and hands each record to `visit`. Checksums are verified. Throws
/// Fault for damaged nodes and circles, and when the number of records is not the declared one.
void walk_btree_v2(const Image& image, uint64_t header_address, BTreeV2Type type,
                   const std::function<void(Cursor record)>& visit);

}  // namespace nyala::hdf5
