#include <algorithm>

#include <nyala/files/hdf5/base/checksum.h>
#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

Cursor::Cursor(const Image& image, uint64_t begin, uint64_t size, std::string_view what)
    : image_(&image), begin_(begin), position_(begin), end_(begin + size), what_(what) {
  if (begin == kUndefined) throw Fault{kNoOffset, "the " + std::string(what) + " has no address"};
  if (begin > image.size() || size > image.size() - begin)
    throw Fault{begin, "the " + std::string(what) + " of " + std::to_string(size) +
                           " bytes reaches beyond the end of the file (" + std::to_string(image.size()) +
                           " bytes): damaged or truncated"};
}

Cursor Cursor::to_end(const Image& image, uint64_t begin, std::string_view what) {
  return Cursor(image, begin, begin < image.size() ? image.size() - begin : 1, what);
}

std::span<const std::byte> Cursor::bytes(uint64_t count) {
  if (count > remaining())
    fail("the " + std::string(what_) + " ends after " + std::to_string(remaining()) + " more bytes, " +
         std::to_string(count) + " are needed");
  const auto range = look(count);
  position_ += count;
  return range;
}

std::span<const std::byte> Cursor::look(uint64_t count) {
  constexpr uint64_t kAhead = 4096;  // fields are small, and each look into a large file takes a lock
  if (image_->bytes.in_memory()) return image_->bytes.bytes(position_, count);
  if (position_ < window_begin_ || position_ + count > window_begin_ + window_.size()) {
    window_begin_ = position_;
    window_ = image_->bytes.bytes(position_, std::max(count, std::min(kAhead, remaining())));
  }
  return window_.subspan(position_ - window_begin_, count);
}

uint64_t Cursor::uint(int size) {
  const auto range = bytes(static_cast<uint64_t>(size));
  uint64_t value = 0;
  for (size_t i = 0; i < range.size(); ++i) value |= std::to_integer<uint64_t>(range[i]) << (8 * i);
  return value;
}

uint64_t Cursor::address() {
  const int size = image_->offset_size;
  const uint64_t value = uint(size);
  const uint64_t all_set = size == 8 ? UINT64_MAX : (uint64_t{1} << (8 * size)) - 1;
  return value == all_set ? kUndefined : value;
}

std::string_view Cursor::text(uint64_t count) {
  const auto range = bytes(count);
  return {reinterpret_cast<const char*>(range.data()), range.size()};
}

Cursor Cursor::take(uint64_t count, std::string_view what) {
  const uint64_t start = position_;
  skip(count);
  return Cursor(*image_, start, count, what);
}

void Cursor::expect_signature(std::string_view signature) {
  const uint64_t start = position_;
  if (text(signature.size()) != signature)
    throw Fault{start, "the " + std::string(what_) + " lacks its signature '" + std::string(signature) + "'"};
}

void Cursor::expect_version(uint8_t version) {
  const uint64_t start = position_;
  const uint8_t found = u8();
  if (found != version)
    throw Fault{start, "the " + std::string(what_) + " has version " + std::to_string(found) +
                           "; only version " + std::to_string(version) + " is known"};
}

void Cursor::expect_checksum() {
  const uint32_t computed = lookup3(image_->bytes.bytes(begin_, consumed()));
  const uint64_t start = position_;
  if (u32() != computed)
    throw Fault{start, "the checksum of the " + std::string(what_) + " does not match: damaged"};
}

}  // namespace nyala::hdf5
