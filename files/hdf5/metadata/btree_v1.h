#pragma once

#include <cstdint>
#include <functional>

#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// What a version 1 B-tree holds and how large its keys are.
struct BTreeV1Kind {
  uint8_t node_type;  ///< 0: group entries, 1: chunks
  uint64_t key_size;  ///< bytes
};

/// Walks a version 1 B-tree in key order and hands every child of its leaves to `visit`, with the key in
/// front of it and its address. Throws Fault for damaged nodes, levels that do not decrease, and circles.
void walk_btree_v1(const Image& image, uint64_t root, BTreeV1Kind kind,
                   const std::function<void(Cursor key, uint64_t child)>& visit);

}  // namespace nyala::hdf5
