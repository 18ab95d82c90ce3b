// HDF5 File Format Specification 3.0, section III.G. A heap is one space of addresses, cut into rows of
// equally many blocks whose size doubles from the second row on; blocks that are too large for data are
// tables of the same kind. An object's ID is its offset and length there, and the way down to its block is
// arithmetic. Blocks that were found and verified are remembered, since every object of a group asks for one
// of few. Small objects stand in the ID itself, huge ones outside with a B-tree of their own.
#include <algorithm>
#include <bit>
#include <iterator>

#include <nyala/files/hdf5/base/checksum.h>
#include <nyala/files/hdf5/metadata/btree_v2.h>
#include <nyala/files/hdf5/metadata/fractal_heap.h>

namespace nyala::hdf5 {
namespace {

uint64_t log2_of(uint64_t power) { return static_cast<uint64_t>(std::countr_zero(power)); }

/// Bytes of a field of `bits` bits.
uint64_t bytes_of_bits(uint64_t bits) { return (bits + 7) / 8; }

}  // namespace

FractalHeap::FractalHeap(const Image& image, uint64_t address)
    : image_(&image), address_(address), object_budget_(image), block_budget_(image) {
  Cursor header = Cursor::to_end(image, address, "fractal heap header");
  header.expect_signature("FRHP");
  header.expect_version(0);
  id_size_ = header.u16();
  const uint64_t filters_size = header.u16();
  has_block_checksums_ = (header.u8() & 2) != 0;
  max_managed_ = header.u32();
  header.length();  // next huge ID
  huge_tree_ = header.address();
  header.length();  // free space
  header.address();
  for (int i = 0; i < 8; ++i) header.length();  // statistics
  width_ = header.u16();
  start_size_ = header.length();
  max_direct_ = header.length();
  max_bits_ = header.u16();
  header.skip(2);  // rows at the start
  root_ = header.address();
  root_rows_ = header.u16();
  if (filters_size != 0) header.fail("fractal heaps with filters are not supported");
  header.expect_checksum();
  check_table(header);
}

void FractalHeap::check_table(const Cursor& header) const {
  // Every heap that libhdf5 makes has 4 blocks in a row.
  constexpr uint64_t kMaxWidth = 64;
  bool is_sound = std::has_single_bit(width_) && width_ <= kMaxWidth && std::has_single_bit(start_size_) &&
                  std::has_single_bit(max_direct_) && start_size_ <= max_direct_ && max_bits_ <= 64 &&
                  id_size_ >= 1;
  if (is_sound) {
    const uint64_t first_row_bits = log2_of(start_size_) + log2_of(width_);
    is_sound = first_row_bits <= max_bits_ && root_rows_ <= max_bits_ - first_row_bits + 1 &&
               log2_of(max_direct_) <= max_bits_;
  }
  if (!is_sound) header.fail("a fractal heap with impossible sizes");
}

Cursor FractalHeap::object(Cursor id) {
  const uint8_t first = Cursor(id).u8();
  if ((first >> 6) != 0) id.fail("a heap ID of unknown version " + std::to_string(first >> 6));
  switch ((first >> 4) & 3) {
    case 0:
      return managed(id);
    case 1:
      return huge(id);
    case 2:
      return tiny(id);
    default:
      id.fail("a heap ID of unknown kind");
  }
}

Cursor FractalHeap::managed(Cursor id) {
  id.skip(1);
  const uint64_t offset = id.uint(static_cast<int>(bytes_of_bits(max_bits_)));
  const uint64_t by_block = bytes_of_bits(log2_of(max_direct_));
  const uint64_t by_object = (static_cast<uint64_t>(std::bit_width(max_managed_)) + 7) / 8;
  const uint64_t length = id.uint(static_cast<int>(std::min(by_block, by_object)));
  object_budget_.spend(length, id.position());

  const Block block = direct_block(offset);
  const uint64_t inside = offset - block.offset;  // child_of found a block that begins at or before offset
  if (length > block.size || inside > block.size - length) id.fail("a heap object reaches beyond its block");
  return Cursor(*image_, block.address + inside, length, "heap object");
}

// The way down to a block reads all pointers on it, which must not happen for each object.
FractalHeap::Block FractalHeap::direct_block(uint64_t offset) {
  const auto next = direct_.upper_bound(offset);
  if (next != direct_.begin())
    if (const Block& known = std::prev(next)->second; offset - known.offset < known.size) return known;
  const Block block = find_direct(offset);
  if (!direct_.contains(block.offset)) verify(block);
  direct_.emplace(block.offset, block);
  return block;
}

FractalHeap::Block FractalHeap::find_direct(uint64_t offset) const {
  Block block{root_, start_size_, 0};
  if (root_rows_ == 0) return block;
  const uint64_t first_row_size = start_size_ * width_;
  uint64_t rows = root_rows_;
  while (true) {
    bool is_direct = false;
    block = child_of(block, rows, offset, is_direct);
    if (is_direct) return block;
    if (block.size < first_row_size) throw Fault{block.address, "a fractal heap block smaller than its rows"};
    // A block of the last row holds one row less than its parent: this ends.
    rows = log2_of(block.size) - log2_of(first_row_size) + 1;
  }
}

FractalHeap::Block FractalHeap::child_of(const Block& parent, uint64_t rows, uint64_t offset,
                                         bool& is_direct) const {
  const uint64_t offset_size = bytes_of_bits(max_bits_);
  const uint64_t children = rows * width_;
  const uint64_t header = 4 + 1 + static_cast<uint64_t>(image_->offset_size) + offset_size;
  const uint64_t size = header + children * static_cast<uint64_t>(image_->offset_size) + 4;
  Cursor cursor(*image_, parent.address, size, "fractal heap block");
  cursor.expect_signature("FHIB");
  cursor.expect_version(0);
  if (cursor.address() != address_) cursor.fail("a fractal heap block of another heap");
  if (cursor.uint(static_cast<int>(offset_size)) != parent.offset)
    cursor.fail("a fractal heap block at a wrong offset");

  const uint64_t direct_rows = log2_of(max_direct_) - log2_of(start_size_) + 2;
  uint64_t start = parent.offset;
  std::optional<Block> found;
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < width_; ++column) {
      const uint64_t address = cursor.address();
      if (!found && offset >= start && offset - start < row_size(row)) {
        found = Block{address, row_size(row), start};
        is_direct = row < direct_rows;
      }
      start += row_size(row);
    }
  }
  cursor.expect_checksum();
  if (!found || found->address == kUndefined) throw Fault{parent.address, "a heap ID outside its heap"};
  return *found;
}

void FractalHeap::verify(const Block& block) {
  Cursor cursor(*image_, block.address, block.size, "fractal heap block");
  block_budget_.spend(block.size, block.address);
  cursor.expect_signature("FHDB");
  cursor.expect_version(0);
  if (cursor.address() != address_) cursor.fail("a fractal heap block of another heap");
  if (cursor.uint(static_cast<int>(bytes_of_bits(max_bits_))) != block.offset)
    cursor.fail("a fractal heap block at a wrong offset");
  if (!has_block_checksums_) return;
  // The hash is that of the whole block with the field of the hash set to zero.
  const uint64_t field = cursor.consumed();
  const uint32_t stored = cursor.u32();
  const auto range = image_->bytes.bytes(block.address, block.size);
  std::vector<std::byte> copy(range.begin(), range.end());
  std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(field), 4, std::byte{0});
  if (lookup3(copy) != stored) cursor.fail("the checksum of the fractal heap block does not match: damaged");
}

Cursor FractalHeap::huge(Cursor id) {
  id.skip(1);
  const auto direct_size = static_cast<uint64_t>(image_->offset_size + image_->length_size);
  Range range{};
  if (id.remaining() >= direct_size) {
    range.address = id.address();
    range.length = id.length();
  } else {
    if (!huge_objects_) read_huge_objects();
    const auto found = huge_objects_->find(id.uint(static_cast<int>(std::min<uint64_t>(id.remaining(), 8))));
    if (found == huge_objects_->end()) id.fail("a huge heap object that its heap does not hold");
    range = found->second;
  }
  object_budget_.spend(range.length, id.position());
  return Cursor(*image_, range.address, range.length, "huge heap object");
}

void FractalHeap::read_huge_objects() {
  decltype(huge_objects_)::value_type objects;  // not kept where reading ends half-way
  walk_btree_v2(*image_, huge_tree_, BTreeV2Type::huge_objects, [&](Cursor record) {
    Range range{};
    range.address = record.address();
    range.length = record.length();
    objects.emplace(record.length(), range);
  });
  huge_objects_ = std::move(objects);
}

Cursor FractalHeap::tiny(Cursor id) const {
  constexpr uint64_t kLongestShort = 16;
  uint64_t length = id.u8() & 15u;
  if (id_size_ - 1 > kLongestShort) length = (length << 8) | id.u8();
  return id.take(length + 1, "tiny heap object");
}

}  // namespace nyala::hdf5
