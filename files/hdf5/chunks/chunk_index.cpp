// Where a dataset's chunks lie, by all six indexes of the format (HDF5 File Format Specification 3.0,
// sections III.A.1 and VII.A to E). Each gives chunks in an order of its own; here they become positions in
// the grid as it is now, sorted, none twice. Arrays number the grid that the dataset may grow to, extensible
// ones with the unlimited axis as the slowest, so that its growth only adds at the end.
#include <algorithm>
#include <numeric>

#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/chunks/chunk_arrays.h>
#include <nyala/files/hdf5/chunks/chunk_index.h>
#include <nyala/files/hdf5/metadata/btree_v1.h>
#include <nyala/files/hdf5/metadata/btree_v2.h>

namespace nyala::hdf5 {
namespace {

constexpr uint64_t kUnlimited = UINT64_MAX;

uint64_t divide_up(uint64_t size, uint64_t chunk) { return size / chunk + (size % chunk != 0 ? 1 : 0); }

class IndexReader {
 public:
  IndexReader(const Image& image, const Layout& layout, const ChunkGrid& grid, bool is_filtered)
      : image_(image), layout_(layout), grid_(grid), is_filtered_(is_filtered) {}

  std::vector<Chunk> read() {
    if (layout_.address == kUndefined) return {};
    switch (layout_.index) {
      case ChunkIndex::btree_v1:
        read_btree_v1();
        break;
      case ChunkIndex::single:
        read_single();
        break;
      case ChunkIndex::implicit:
        read_implicit();
        break;
      case ChunkIndex::fixed_array:
        read_fixed_array();
        break;
      case ChunkIndex::extensible_array:
        read_extensible_array();
        break;
      case ChunkIndex::btree_v2:
        read_btree_v2();
        break;
    }
    const auto by_number = [](const Chunk& a, const Chunk& b) { return a.number < b.number; };
    std::sort(chunks_.begin(), chunks_.end(), by_number);
    for (size_t i = 1; i < chunks_.size(); ++i)
      if (chunks_[i].number == chunks_[i - 1].number) fail("a chunk stands twice in its index");
    return std::move(chunks_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw Fault{layout_.address, reason}; }

  void read_btree_v1() {
    constexpr uint8_t kChunkNode = 1;
    const BTreeV1Kind kind{kChunkNode, 4 + 4 + 8 * (grid_.rank() + 1)};
    walk_btree_v1(image_, layout_.address, kind, [&](Cursor key, uint64_t address) {
      Chunk chunk{0, address, key.u32(), 0};
      chunk.mask = key.u32();
      std::vector<uint64_t> coordinates(grid_.rank());
      for (size_t axis = 0; axis < coordinates.size(); ++axis) {
        const uint64_t offset = key.u64();
        if (offset % layout_.chunk[axis] != 0)
          key.fail("a chunk that does not begin at a multiple of the chunk size");
        coordinates[axis] = offset / layout_.chunk[axis];
      }
      if (key.u64() != 0) key.fail("a chunk that begins inside an element");
      chunk.number = grid_.number(coordinates);
      chunks_.push_back(chunk);
    });
  }

  void read_btree_v2() {
    const BTreeV2Type type = is_filtered_ ? BTreeV2Type::filtered_chunks : BTreeV2Type::chunks;
    walk_btree_v2(image_, layout_.address, type, [&](Cursor record) {
      const uint64_t coordinate_bytes = 8 * grid_.rank();
      if (record.remaining() < coordinate_bytes) record.fail("a chunk record that is too short");
      Cursor stored = record.take(record.remaining() - coordinate_bytes, "chunk record");
      Chunk chunk = read_stored(stored);
      std::vector<uint64_t> coordinates(grid_.rank());
      for (uint64_t& coordinate : coordinates) coordinate = record.u64();
      chunk.number = grid_.number(coordinates);
      chunks_.push_back(chunk);
    });
  }

  void read_single() {
    if (grid_.count() == 0) return;
    if (grid_.count() > 1) fail("a single chunk that does not cover its dataset");
    const uint64_t size = layout_.single_size != 0 ? layout_.single_size : layout_.chunk_bytes;
    chunks_.push_back({0, layout_.address, size, layout_.single_mask});
  }

  void read_implicit() {
    if (is_filtered_) fail("filtered chunks without an index");
    // All chunks that may ever be there lie one after the other.
    uint64_t all = 1;
    for (size_t axis = 0; axis < grid_.rank(); ++axis)
      all = checked_multiply(all, grid_.max_count(axis), "chunk index");
    const uint64_t bytes = checked_multiply(all, layout_.chunk_bytes, "size of all chunks");
    Cursor(image_, layout_.address, bytes, "chunk data");
    for (uint64_t index = 0; index < all; ++index) {
      const std::vector<uint64_t> coordinates = unravel(index, natural_order());
      if (!is_inside(coordinates)) continue;
      chunks_.push_back(
          {grid_.number(coordinates), layout_.address + index * layout_.chunk_bytes, layout_.chunk_bytes, 0});
    }
  }

  void read_fixed_array() {
    const std::vector<size_t> order = natural_order();
    walk_fixed_array(image_, layout_.address, is_filtered_,
                     [&](uint64_t index, Cursor element) { add_element(index, element, order); });
  }

  void read_extensible_array() {
    // The one unlimited axis counts slowest.
    std::vector<size_t> order = natural_order();
    const auto is_unlimited = [&](size_t axis) { return grid_.max_count(axis) == kUnlimited; };
    std::stable_partition(order.begin(), order.end(), is_unlimited);
    walk_extensible_array(image_, layout_.address, is_filtered_,
                          [&](uint64_t index, Cursor element) { add_element(index, element, order); });
  }

  void add_element(uint64_t index, Cursor element, const std::vector<size_t>& order) {
    Chunk chunk = read_stored(element);
    if (chunk.address == kUndefined) return;
    chunk.number = grid_.number(unravel(index, order));
    chunks_.push_back(chunk);
  }

  /// Address and, for filtered chunks, stored size and mask.
  Chunk read_stored(Cursor& cursor) const {
    Chunk chunk{0, cursor.address(), layout_.chunk_bytes, 0};
    if (!is_filtered_) return chunk;
    const uint64_t size_bytes = cursor.remaining() - std::min<uint64_t>(cursor.remaining(), 4);
    if (size_bytes < 1 || size_bytes > 8) cursor.fail("a chunk record of impossible size");
    chunk.size = cursor.uint(static_cast<int>(size_bytes));
    chunk.mask = cursor.u32();
    return chunk;
  }

  std::vector<size_t> natural_order() const {
    std::vector<size_t> order(grid_.rank());
    std::iota(order.begin(), order.end(), size_t{0});
    return order;
  }

  /// Coordinates of a position in the largest grid that the dataset may grow to, `order` from slowest axis.
  std::vector<uint64_t> unravel(uint64_t index, const std::vector<size_t>& order) const {
    std::vector<uint64_t> coordinates(order.size());
    for (size_t i = order.size(); i-- > 1;) {
      const uint64_t count = std::max<uint64_t>(grid_.max_count(order[i]), 1);
      coordinates[order[i]] = index % count;
      index /= count;
    }
    coordinates[order[0]] = index;
    return coordinates;
  }

  bool is_inside(const std::vector<uint64_t>& coordinates) const {
    for (size_t axis = 0; axis < coordinates.size(); ++axis)
      if (coordinates[axis] >= grid_.count(axis)) return false;
    return true;
  }

  const Image& image_;
  const Layout& layout_;
  const ChunkGrid& grid_;
  bool is_filtered_;
  std::vector<Chunk> chunks_;
};

}  // namespace

ChunkGrid::ChunkGrid(const Dataspace& space, const std::vector<uint64_t>& chunk) {
  for (size_t axis = 0; axis < chunk.size(); ++axis) {
    counts_.push_back(divide_up(space.sizes[axis], chunk[axis]));
    const uint64_t max_size = space.max_sizes[axis];
    max_counts_.push_back(max_size == kUnlimited ? kUnlimited : divide_up(max_size, chunk[axis]));
    count_ = checked_multiply(count_, counts_.back(), "number of chunks");
  }
}

uint64_t ChunkGrid::number(const std::vector<uint64_t>& coordinates) const {
  uint64_t number = 0;
  for (size_t axis = 0; axis < counts_.size(); ++axis) {
    if (coordinates[axis] >= counts_[axis]) throw Fault{kNoOffset, "a chunk lies outside its dataset"};
    number = number * counts_[axis] + coordinates[axis];
  }
  return number;
}

std::vector<uint64_t> ChunkGrid::coordinates(uint64_t number) const {
  std::vector<uint64_t> coordinates(counts_.size());
  for (size_t axis = counts_.size(); axis-- > 0;) {
    coordinates[axis] = number % counts_[axis];
    number /= counts_[axis];
  }
  return coordinates;
}

std::vector<Chunk> read_chunk_index(const Image& image, const Layout& layout, const ChunkGrid& grid,
                                    bool is_filtered) {
  return IndexReader(image, layout, grid, is_filtered).read();
}

}  // namespace nyala::hdf5
