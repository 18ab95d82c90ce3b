#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <nyala/files/hdf5/chunks/chunk_index.h>
#include <nyala/files/hdf5/metadata/filters.h>

namespace nyala::hdf5 {

/// Assembles a chunked dataset.
class ChunkReader {
 public:
  /// Turns the stored elements of a chunk into elements of `out`.
  using Convert = std::function<void(std::span<const std::byte> stored, std::span<std::byte> out)>;

  /// Reads the index. Throws Fault.
  ChunkReader(const Image& image, const Dataspace& space, const Layout& layout, FilterPipeline filters);

  /// Bytes that the file stores for all chunks together.
  uint64_t stored_bytes() const;

  /// Writes the elements of all stored chunks to their places in `out`, row by row, `element_size` bytes each
  /// after `convert`. Places of chunks that are not stored are left alone. Throws Fault.
  void read(std::span<std::byte> out, uint64_t element_size, const Convert& convert);

 private:
  std::span<const std::byte> decode(const Chunk& chunk, const std::vector<uint64_t>& coordinates);
  bool is_at_edge(const std::vector<uint64_t>& coordinates) const;
  void scatter(std::span<const std::byte> chunk, const std::vector<uint64_t>& coordinates,
               std::span<std::byte> out, uint64_t element_size) const;

  const Image& image_;
  const Dataspace& space_;
  const Layout& layout_;
  FilterPipeline filters_;
  ChunkGrid grid_;
  std::vector<Chunk> chunks_;
  std::vector<std::byte> stored_;  // what a large file has of a chunk
};

}  // namespace nyala::hdf5
