#pragma once

#include <cstdint>
#include <vector>

#include <nyala/files/hdf5/metadata/dataspace.h>
#include <nyala/files/hdf5/metadata/layout.h>

namespace nyala::hdf5 {

/// One stored chunk.
struct Chunk {
  uint64_t number;  ///< position in the grid of chunks, last axis fastest
  uint64_t address;
  uint64_t size;  ///< stored bytes
  uint32_t mask;  ///< filters that were not applied
};

/// The grid of chunks that covers a dataset.
class ChunkGrid {
 public:
  /// Throws Fault if the number of chunks overflows.
  ChunkGrid(const Dataspace& space, const std::vector<uint64_t>& chunk);

  size_t rank() const { return counts_.size(); }
  uint64_t count() const { return count_; }
  /// Chunks along `axis` that the dataset has now, and may grow to (UINT64_MAX: unlimited).
  uint64_t count(size_t axis) const { return counts_[axis]; }
  uint64_t max_count(size_t axis) const { return max_counts_[axis]; }
  /// The number of the chunk at these grid coordinates. Throws Fault outside the grid.
  uint64_t number(const std::vector<uint64_t>& coordinates) const;
  std::vector<uint64_t> coordinates(uint64_t number) const;

 private:
  std::vector<uint64_t> counts_;
  std::vector<uint64_t> max_counts_;
  uint64_t count_ = 1;
};

/// All stored chunks of a dataset, sorted by number, none twice. `is_filtered`: the dataset has filters.
/// Throws Fault.
std::vector<Chunk> read_chunk_index(const Image& image, const Layout& layout, const ChunkGrid& grid,
                                    bool is_filtered);

}  // namespace nyala::hdf5
