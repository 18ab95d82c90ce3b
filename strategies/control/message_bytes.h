#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace nyala::detail {

/// Numbers in little endian, texts behind their length, in a fixed order behind a number for the form.
class MessageWriter {
 public:
  /// `who` begins errors: "control plane: ".
  MessageWriter(std::string_view who, uint32_t form) : who_(who) { number(form); }

  template <class Number>
  void number(Number value) {
    using Bits = std::make_unsigned_t<Number>;
    for (size_t byte = 0; byte < sizeof(Number); ++byte)
      bytes_ += static_cast<char>((static_cast<Bits>(value) >> (8 * byte)) & 0xff);
  }
  /// These throw InvalidArgumentError for what is longer than `most`.
  void text(std::string_view value, size_t most, const char* what);
  void count(size_t size, size_t most, const char* what);
  std::string take() && { return std::move(bytes_); }

 private:
  std::string_view who_;
  std::string bytes_;
};

/// Believes no length: each is held against a limit and against the bytes that are left before anything is
/// made. What does not fit is a CommunicationError with the place.
class MessageReader {
 public:
  MessageReader(std::string_view who, std::string_view bytes, size_t most);

  template <class Number>
  Number number() {
    using Bits = std::make_unsigned_t<Number>;
    if (bytes_.size() - place_ < sizeof(Number)) fail("it ends inside of a number");
    Bits value = 0;
    for (size_t byte = 0; byte < sizeof(Number); ++byte)
      value = static_cast<Bits>(
          value |
          static_cast<Bits>(static_cast<Bits>(static_cast<unsigned char>(bytes_[place_++])) << (8 * byte)));
    return static_cast<Number>(value);
  }
  std::string text(size_t most);
  uint32_t count(size_t most);
  template <class Kind>
  Kind kind(Kind last) {
    const uint8_t value = number<uint8_t>();
    if (value > static_cast<uint8_t>(last)) fail("a kind is unknown");
    return static_cast<Kind>(value);
  }
  void expect_form(uint32_t form);
  void expect_end();
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string_view who_, bytes_;
  size_t place_ = 0;
};

}  // namespace nyala::detail
