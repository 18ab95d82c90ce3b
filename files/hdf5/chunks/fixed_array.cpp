// HDF5 File Format Specification 3.0, section VII.C: one block of elements, in pages with checksums of their
// own where there are many; pages whose bit is not set were never written.
#include <algorithm>

#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/chunks/chunk_arrays.h>

namespace nyala::hdf5 {
namespace {

constexpr uint64_t kChecksum = 4;

struct FixedArray {
  uint64_t address;
  uint8_t client;
  uint64_t element_size;
  uint64_t page_elements;
  uint64_t count;
  uint64_t data;
};

FixedArray read_header(const Image& image, uint64_t address, bool is_filtered) {
  Cursor header = Cursor::to_end(image, address, "fixed array header");
  header.expect_signature("FAHD");
  header.expect_version(0);
  FixedArray array{};
  array.address = address;
  array.client = header.u8();
  array.element_size = header.u8();
  const unsigned page_bits = header.u8();
  array.count = header.length();
  array.data = header.address();
  header.expect_checksum();
  if (array.client != (is_filtered ? 1 : 0)) header.fail("a fixed array of another kind than its chunks");
  if (page_bits > 32 || array.element_size < static_cast<uint64_t>(image.offset_size))
    header.fail("a fixed array with impossible sizes");
  array.page_elements = uint64_t{1} << page_bits;
  return array;
}

void visit_range(Cursor elements, uint64_t element_size, uint64_t first, const VisitElement& visit) {
  for (uint64_t i = first; elements.remaining() > 0; ++i)
    visit(i, elements.take(element_size, "array element"));
}

/// Pages follow the block; those whose bit is not set hold nothing.
void walk_pages(Cursor block, const FixedArray& array, const VisitElement& visit) {
  const Image& image = block.image();
  const uint64_t pages = (array.count - 1) / array.page_elements + 1;
  const auto initialized = block.bytes((pages - 1) / 8 + 1);
  block.expect_checksum();
  const uint64_t page_size =
      checked_multiply(array.page_elements, array.element_size, "page size") + kChecksum;
  for (uint64_t page = 0; page < pages; ++page) {
    if ((std::to_integer<unsigned>(initialized[page / 8]) & (0x80u >> (page % 8))) == 0) continue;
    const uint64_t first = page * array.page_elements;
    const uint64_t bytes = std::min(array.page_elements, array.count - first) * array.element_size;
    const uint64_t start =
        checked_add(block.position(), checked_multiply(page, page_size, "page address"), "page address");
    Cursor cursor(image, start, checked_add(bytes, kChecksum, "page size"), "fixed array page");
    const Cursor elements = cursor.take(bytes, "fixed array page");
    cursor.expect_checksum();
    visit_range(elements, array.element_size, first, visit);
  }
}

}  // namespace

void walk_fixed_array(const Image& image, uint64_t address, bool is_filtered, const VisitElement& visit) {
  const FixedArray array = read_header(image, address, is_filtered);
  if (array.data == kUndefined || array.count == 0) return;
  Cursor block = Cursor::to_end(image, array.data, "fixed array block");
  block.expect_signature("FADB");
  block.expect_version(0);
  if (block.u8() != array.client || block.address() != address)
    block.fail("a fixed array block of another array");
  if (array.count > array.page_elements) return walk_pages(block, array, visit);
  const Cursor elements = block.take(array.count * array.element_size, "fixed array block");
  block.expect_checksum();
  visit_range(elements, array.element_size, 0, visit);
}

}  // namespace nyala::hdf5
