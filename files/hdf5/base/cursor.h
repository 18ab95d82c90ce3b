#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <nyala/files/hdf5/base/image.h>

namespace nyala::hdf5 {

/// An address that says "nothing is stored": all bits set, whatever the size of an address in the file.
inline constexpr uint64_t kUndefined = UINT64_MAX;

/// Reads little-endian fields from a range of an image. Every read is checked against the range, and the
/// range against the image, so that no byte outside the file is touched whatever the fields say.
/// All members throw Fault. Holds a pointer to the image, which must outlive it.
class Cursor {
 public:
  /// The range [begin, begin + size). `what` (a literal) names it in messages.
  Cursor(const Image& image, uint64_t begin, uint64_t size, std::string_view what);
  /// From `begin` to the end of the image, for structures whose size stands inside them.
  static Cursor to_end(const Image& image, uint64_t begin, std::string_view what);

  const Image& image() const { return *image_; }
  std::string_view what() const { return what_; }
  uint64_t begin() const { return begin_; }
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return end_ - position_; }
  uint64_t consumed() const { return position_ - begin_; }

  uint8_t u8() { return static_cast<uint8_t>(uint(1)); }
  uint16_t u16() { return static_cast<uint16_t>(uint(2)); }
  uint32_t u32() { return static_cast<uint32_t>(uint(4)); }
  uint64_t u64() { return uint(8); }
  /// An unsigned number of 1 to 8 bytes.
  uint64_t uint(int size);
  /// An address; kUndefined where the file has all bits set.
  uint64_t address();
  /// A length, in the file's size of lengths.
  uint64_t length() { return uint(image_->length_size); }

  std::span<const std::byte> bytes(uint64_t count);
  /// `count` bytes as text, whatever they are.
  std::string_view text(uint64_t count);
  void skip(uint64_t count) { bytes(count); }
  /// The next `count` bytes as a cursor of their own; this one moves behind them.
  Cursor take(uint64_t count, std::string_view what);

  void expect_signature(std::string_view signature);
  void expect_version(uint8_t version);
  /// Compares the next 4 bytes with the lookup3 hash of everything between begin() and here.
  void expect_checksum();

  [[noreturn]] void fail(const std::string& reason) const { throw Fault{position_, reason}; }

 private:
  std::span<const std::byte> look(uint64_t count);

  const Image* image_;
  uint64_t begin_;
  uint64_t position_;
  uint64_t end_;
  std::string_view what_;
  std::span<const std::byte> window_;  ///< of a large file: bytes that were looked at, and those behind them
  uint64_t window_begin_ = 0;
};

}  // namespace nyala::hdf5
