// Chunk after chunk: its bytes, the filters undone, the dtype converted, the rows that lie inside the dataset
// copied to their places. Chunks at the edge are stored whole, with rows beyond the data.
#include <algorithm>
#include <cstring>
#include <numeric>

#include <nyala/files/hdf5/chunks/chunk_reader.h>

namespace nyala::hdf5 {

ChunkReader::ChunkReader(const Image& image, const Dataspace& space, const Layout& layout,
                         FilterPipeline filters)
    : image_(image),
      space_(space),
      layout_(layout),
      filters_(std::move(filters)),
      grid_(space, layout.chunk),
      chunks_(read_chunk_index(image, layout, grid_, !filters_.empty())) {}

uint64_t ChunkReader::stored_bytes() const {
  // Chunks may be laid on each other in a damaged file: together they are never more than the file.
  uint64_t sum = 0;
  for (const Chunk& chunk : chunks_) sum = std::min(image_.size(), sum + std::min(image_.size(), chunk.size));
  return sum;
}

void ChunkReader::read(std::span<std::byte> out, uint64_t element_size, const Convert& convert) {
  const uint64_t chunk_elements =
      std::accumulate(layout_.chunk.begin(), layout_.chunk.end(), uint64_t{1}, std::multiplies<>());
  std::vector<std::byte> converted;
  for (const Chunk& chunk : chunks_) {
    const std::vector<uint64_t> coordinates = grid_.coordinates(chunk.number);
    std::span<const std::byte> elements = decode(chunk, coordinates);
    if (convert) {
      converted.resize(chunk_elements * element_size);
      convert(elements, converted);
      elements = converted;
    }
    scatter(elements, coordinates, out, element_size);
  }
}

std::span<const std::byte> ChunkReader::decode(const Chunk& chunk, const std::vector<uint64_t>& coordinates) {
  const Cursor place(image_, chunk.address, chunk.size, "chunk");  // throws where there is none
  const auto stored = image_.bytes.bytes(place.position(), chunk.size, stored_);
  const bool is_plain = layout_.are_edge_chunks_unfiltered && is_at_edge(coordinates);
  try {
    return filters_.decode(stored, is_plain ? UINT32_MAX : chunk.mask, layout_.chunk_bytes);
  } catch (const Fault& fault) {
    throw Fault{chunk.address, fault.reason};
  }
}

bool ChunkReader::is_at_edge(const std::vector<uint64_t>& coordinates) const {
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    if (space_.sizes[axis] - coordinates[axis] * layout_.chunk[axis] < layout_.chunk[axis]) return true;
  return false;
}

void ChunkReader::scatter(std::span<const std::byte> chunk, const std::vector<uint64_t>& coordinates,
                          std::span<std::byte> out, uint64_t element_size) const {
  const size_t rank = coordinates.size();
  std::vector<uint64_t> first(rank), extent(rank);  // the part of the chunk that lies inside the dataset
  for (size_t axis = 0; axis < rank; ++axis) {
    first[axis] = coordinates[axis] * layout_.chunk[axis];
    extent[axis] = std::min(layout_.chunk[axis], space_.sizes[axis] - first[axis]);
  }
  const uint64_t row_bytes = extent[rank - 1] * element_size;
  std::vector<uint64_t> at(rank, 0);
  while (true) {
    uint64_t from = 0, to = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      from = from * layout_.chunk[axis] + at[axis];
      to = to * space_.sizes[axis] + first[axis] + at[axis];
    }
    std::memcpy(out.data() + to * element_size, chunk.data() + from * element_size, row_bytes);
    size_t axis = rank - 1;
    while (axis-- > 0) {
      if (++at[axis] < extent[axis]) break;
      at[axis] = 0;
    }
    if (axis == SIZE_MAX) return;
  }
}

}  // namespace nyala::hdf5
