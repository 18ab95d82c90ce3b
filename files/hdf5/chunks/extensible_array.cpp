// HDF5 File Format Specification 3.0, section VII.D. Data blocks double in size at every second level, in
// number at the others: an array of n elements has about sqrt(n) blocks, and an element's place follows from
// its index. Addresses of the first blocks stand in the index block, those of later ones in secondary blocks,
// which also have a bit for each page that was ever written.
#include <bit>

#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/chunks/chunk_arrays.h>

namespace nyala::hdf5 {
namespace {

/// An extensible array: some elements in the index block, then data blocks of doubling sizes, the first of
/// which hang on the index block and the others on secondary blocks.
class ExtensibleArray {
 public:
  ExtensibleArray(const Image& image, uint64_t address, const VisitElement& visit)
      : image_(image), address_(address), visit_(visit), budget_(image) {}

  void walk(bool is_filtered) {
    Cursor header = Cursor::to_end(image_, address_, "extensible array header");
    header.expect_signature("EAHD");
    header.expect_version(0);
    client_ = header.u8();
    element_size_ = header.u8();
    max_bits_ = header.u8();
    index_elements_ = header.u8();
    min_block_elements_ = header.u8();
    min_pointers_ = header.u8();
    const unsigned page_bits = header.u8();
    for (int i = 0; i < 6; ++i) header.length();  // statistics
    const uint64_t index_block = header.address();
    header.expect_checksum();
    if (client_ != (is_filtered ? 1 : 0)) header.fail("an extensible array of another kind than its chunks");
    const bool is_sound = std::has_single_bit(min_block_elements_) && std::has_single_bit(min_pointers_) &&
                          min_pointers_ >= 2 && max_bits_ <= 64 && page_bits <= 32 &&
                          element_size_ >= static_cast<uint64_t>(image_.offset_size) &&
                          log2_of(min_block_elements_) + 2 * log2_of(min_pointers_) <= max_bits_ + 1;
    if (!is_sound) header.fail("an extensible array with impossible sizes");
    page_elements_ = uint64_t{1} << page_bits;
    if (index_block != kUndefined) walk_index_block(index_block);
  }

 private:
  static uint64_t log2_of(uint64_t power) { return static_cast<uint64_t>(std::countr_zero(power)); }
  uint64_t blocks_in(uint64_t level) const { return uint64_t{1} << (level / 2); }
  uint64_t elements_in_block(uint64_t level) const { return min_block_elements_ << ((level + 1) / 2); }
  int block_offset_size() const { return static_cast<int>((max_bits_ + 7) / 8); }

  Cursor open(uint64_t address, std::string_view signature, std::string_view what) {
    Cursor cursor = Cursor::to_end(image_, address, what);
    cursor.expect_signature(signature);
    cursor.expect_version(0);
    if (cursor.u8() != client_ || cursor.address() != address_)
      cursor.fail("a block of another extensible array");
    return cursor;
  }

  void walk_index_block(uint64_t address) {
    Cursor block = open(address, "EAIB", "extensible array index");
    Cursor elements = block.take(index_elements_ * element_size_, "extensible array index");
    const uint64_t direct_levels = 2 * log2_of(min_pointers_);
    const uint64_t levels = 1 + max_bits_ - log2_of(min_block_elements_);
    const uint64_t offset_size = static_cast<uint64_t>(image_.offset_size);
    Cursor data = block.take(2 * (min_pointers_ - 1) * offset_size, "extensible array index");
    Cursor secondary = block.take((levels > direct_levels ? levels - direct_levels : 0) * offset_size,
                                  "extensible array index");
    block.expect_checksum();
    budget_.spend(block.consumed(), address);

    visit_all(elements, 0);
    uint64_t next = index_elements_;
    for (uint64_t level = 0; level < direct_levels; ++level) {
      for (uint64_t i = 0; i < blocks_in(level); ++i) {
        const uint64_t data_address = data.address();
        if (data_address != kUndefined) walk_data_block(data_address, level, next);
        next += elements_in_block(level);
      }
    }
    for (uint64_t level = direct_levels; level < levels; ++level) {
      const uint64_t block_address = secondary.address();
      if (block_address != kUndefined) walk_secondary_block(block_address, level, next);
      next += blocks_in(level) * elements_in_block(level);
    }
  }

  void visit_all(Cursor elements, uint64_t first) {
    for (; elements.remaining() > 0; ++first) visit_(first, elements.take(element_size_, "array element"));
  }

  void walk_data_block(uint64_t address, uint64_t level, uint64_t first) {
    Cursor block = open(address, "EADB", "extensible array block");
    block.uint(block_offset_size());
    const uint64_t bytes = checked_multiply(elements_in_block(level), element_size_, "array block");
    const Cursor elements = block.take(bytes, "extensible array block");
    block.expect_checksum();
    budget_.spend(block.consumed(), address);
    visit_all(elements, first);
  }

  void walk_secondary_block(uint64_t address, uint64_t level, uint64_t first) {
    Cursor block = open(address, "EASB", "extensible array secondary block");
    block.uint(block_offset_size());
    const uint64_t in_block = elements_in_block(level);
    const uint64_t pages = in_block > page_elements_ ? in_block / page_elements_ : 0;
    const uint64_t bitmap_size = checked_multiply(blocks_in(level), (pages + 7) / 8, "page bitmap");
    const auto initialized = block.bytes(bitmap_size);
    Cursor data = block.take(
        checked_multiply(blocks_in(level), static_cast<uint64_t>(image_.offset_size), "array block"),
        "extensible array secondary block");
    block.expect_checksum();
    budget_.spend(block.consumed(), address);
    for (uint64_t i = 0; i < blocks_in(level); ++i, first += in_block) {
      const uint64_t data_address = data.address();
      if (data_address == kUndefined) continue;
      if (pages == 0) {
        walk_data_block(data_address, level, first);
      } else {
        walk_pages(data_address, first, {initialized, i * pages, pages});
      }
    }
  }

  struct PageBits {
    std::span<const std::byte> bits;
    uint64_t first;
    uint64_t count;

    bool is_set(uint64_t page) const {
      const uint64_t bit = first + page;
      return (std::to_integer<unsigned>(bits[bit / 8]) & (0x80u >> (bit % 8))) != 0;
    }
  };

  void walk_pages(uint64_t address, uint64_t first, const PageBits& pages) {
    Cursor block = open(address, "EADB", "extensible array block");
    block.uint(block_offset_size());
    block.expect_checksum();
    const uint64_t bytes = checked_multiply(page_elements_, element_size_, "array page");
    for (uint64_t page = 0; page < pages.count; ++page) {
      Cursor cursor = block.take(checked_add(bytes, 4, "array page"), "extensible array page");
      if (!pages.is_set(page)) continue;
      const Cursor elements = cursor.take(bytes, "extensible array page");
      cursor.expect_checksum();
      visit_all(elements, first + page * page_elements_);
    }
    budget_.spend(block.consumed(), address);
  }

  const Image& image_;
  uint64_t address_;
  const VisitElement& visit_;
  WalkBudget budget_;
  uint8_t client_ = 0;
  uint64_t element_size_ = 0;
  uint64_t max_bits_ = 0;
  uint64_t index_elements_ = 0;
  uint64_t min_block_elements_ = 0;
  uint64_t min_pointers_ = 0;
  uint64_t page_elements_ = 0;
};

}  // namespace

void walk_extensible_array(const Image& image, uint64_t address, bool is_filtered,
                           const VisitElement& visit) {
  ExtensibleArray(image, address, visit).walk(is_filtered);
}

}  // namespace nyala::hdf5
