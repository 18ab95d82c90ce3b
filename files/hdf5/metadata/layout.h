#pragma once

#include <cstdint>
#include <vector>

#include <nyala/files/hdf5/metadata/object_header.h>

namespace nyala::hdf5 {

/// How the chunks of a dataset are found.
enum class ChunkIndex { btree_v1, single, implicit, fixed_array, extensible_array, btree_v2 };

/// Where the elements of a dataset lie.
struct Layout {
  bool is_chunked = false;
  uint64_t address = kUndefined;  ///< of the elements (contiguous and compact) or of the chunk index
  uint64_t size = 0;              ///< bytes at `address`, unless chunked

  ChunkIndex index = ChunkIndex::btree_v1;
  std::vector<uint64_t> chunk;  ///< elements along each axis; all at least 1
  uint64_t chunk_bytes = 0;     ///< bytes of a chunk before its filters, below 4 GiB
  bool are_edge_chunks_unfiltered = false;
  uint64_t single_size = 0;  ///< stored bytes of a filtered single chunk; 0: not filtered
  uint32_t single_mask = 0;
};

/// Parses the layout message of a dataset (versions 3 and 4). `element_size` and `rank` are the dataset's.
/// Throws Fault; external storage and virtual datasets are refused by name.
Layout read_layout(const ObjectHeader& header, uint64_t element_size, size_t rank);

}  // namespace nyala::hdf5
