#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <nyala/backend/core/error.h>

namespace nyala::datasets {

/// Reads a pickle's bytes front to back; each method throws FileFormatError naming `name` and the place where
/// they end too early.
class Cursor {
 public:
  Cursor(std::span<const uint8_t> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw FileFormatError(name_ + ": the pickle is damaged before byte " + std::to_string(position_) + ": " +
                          what);
  }
  bool at_end() const { return position_ == bytes_.size(); }
  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - position_)
      fail("expected " + std::to_string(count) + " more bytes, found " +
           std::to_string(bytes_.size() - position_));
    const std::string_view out(reinterpret_cast<const char*>(bytes_.data()) + position_,
                               static_cast<size_t>(count));
    position_ += static_cast<size_t>(count);
    return out;
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  /// Little-endian, up to 8 bytes.
  uint64_t little(size_t size) {
    const std::string_view parts = take(size);
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(parts[i]);
    return value;
  }
  /// Up to the end of the line, which is passed over.
  std::string_view line() {
    const char* begin = reinterpret_cast<const char*>(bytes_.data()) + position_;
    const void* end = at_end() ? nullptr : std::memchr(begin, '\n', bytes_.size() - position_);
    if (!end) fail("expected the end of a line, found the end of the file");
    const size_t length = static_cast<size_t>(static_cast<const char*>(end) - begin);
    position_ += length + 1;
    return {begin, length};
  }

 private:
  std::span<const uint8_t> bytes_;
  const std::string& name_;
  size_t position_ = 0;
};

}  // namespace nyala::datasets
