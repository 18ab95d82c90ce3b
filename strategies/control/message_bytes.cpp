#include <nyala/strategies/control/message_bytes.h>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

void MessageWriter::text(std::string_view value, size_t most, const char* what) {
  if (value.size() > most)
    throw InvalidArgumentError(std::string(who_) + what + " of " + std::to_string(value.size()) +
                               " bytes, at most " + std::to_string(most));
  number(static_cast<uint32_t>(value.size()));
  bytes_ += value;
}

void MessageWriter::count(size_t size, size_t most, const char* what) {
  if (size > most)
    throw InvalidArgumentError(std::string(who_) + std::to_string(size) + " " + what + ", at most " +
                               std::to_string(most));
  number(static_cast<uint32_t>(size));
}

MessageReader::MessageReader(std::string_view who, std::string_view bytes, size_t most)
    : who_(who), bytes_(bytes) {
  if (bytes.size() > most) fail("it is longer than " + std::to_string(most >> 20) + " MB");
}

std::string MessageReader::text(size_t most) {
  const uint32_t size = number<uint32_t>();
  if (size > most) fail("a text is longer than it may be");
  if (size > bytes_.size() - place_) fail("a text is longer than the message");
  place_ += size;
  return std::string(bytes_.substr(place_ - size, size));
}

uint32_t MessageReader::count(size_t most) {
  const uint32_t size = number<uint32_t>();
  if (size > most) fail("a list is longer than it may be");
  return size;
}

void MessageReader::expect_form(uint32_t form) {
  if (number<uint32_t>() != form) fail("it has another form; are all processes of one version of Nyala?");
}

void MessageReader::expect_end() {
  if (place_ != bytes_.size()) fail("bytes are left over");
}

void MessageReader::fail(const std::string& reason) const {
  throw CommunicationError(std::string(who_) + "no message (at byte " + std::to_string(place_) + " of " +
                           std::to_string(bytes_.size()) + "): " + reason);
}

}  // namespace nyala::detail
