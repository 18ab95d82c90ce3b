// HDF5 File Format Specification 3.0, section III.E: texts of any length lie in collections of numbered
// objects. A collection is read once and its objects are found by number, since an array of texts names the
// same one again and again.
#include <nyala/files/hdf5/metadata/global_heap.h>

namespace nyala::hdf5 {
namespace {

/// Everything in a collection stands at multiples of 8 from its begin.
uint64_t padding_after(uint64_t size) { return (8 - size % 8) % 8; }
uint64_t padded(uint64_t size) { return size + padding_after(size); }

}  // namespace

std::string GlobalHeap::read_string(Cursor& element) {
  const uint64_t at = element.position();
  const uint64_t length = element.u32();
  const uint64_t address = element.address();
  const uint64_t index = element.u32();
  // libhdf5 writes an unset string as zeros, a fill value as length 0.
  if (length == 0 || address == 0 || address == kUndefined) {
    if (length != 0) throw Fault{at, "a string of " + std::to_string(length) + " bytes without an address"};
    return {};
  }
  const Collection& objects = collection(address);
  const auto found = objects.find(index);
  if (found == objects.end())
    throw Fault{at, "a string refers to object " + std::to_string(index) +
                        ", which its heap collection does not hold"};
  if (length > found->second.size)
    throw Fault{at, "a string of " + std::to_string(length) + " bytes in a heap object of " +
                        std::to_string(found->second.size)};
  strings_.spend(length, at);
  const std::string_view text = Cursor(*image_, found->second.begin, length, "string").text(length);
  return std::string(text.substr(0, text.find('\0')));
}

const GlobalHeap::Collection& GlobalHeap::collection(uint64_t address) {
  if (const auto known = known_.find(address); known != known_.end()) return known->second;

  const uint64_t header_size = padded(4 + 1 + 3 + static_cast<uint64_t>(image_->length_size));
  Cursor header(*image_, address, header_size, "global heap collection");
  header.expect_signature("GCOL");
  header.expect_version(1);
  header.skip(3);
  const uint64_t size = header.length();
  if (size < header_size) header.fail("a global heap collection smaller than its header");
  Cursor objects(*image_, address, size, "global heap collection");
  objects.skip(header_size);
  collections_.spend(size, address);

  Collection found;
  const uint64_t field_bytes = 2 + 2 + 4 + static_cast<uint64_t>(image_->length_size);
  while (objects.remaining() >= padded(field_bytes)) {
    const uint64_t index = objects.u16();
    objects.skip(2 + 4);
    const uint64_t length = objects.length();
    objects.skip(padding_after(field_bytes));
    if (index == 0) break;  // the rest is free
    found.emplace(index, Range{objects.position(), length});
    objects.skip(length);
    if (objects.remaining() < padding_after(length)) break;
    objects.skip(padding_after(length));
  }
  return known_.emplace(address, std::move(found)).first->second;
}

}  // namespace nyala::hdf5
