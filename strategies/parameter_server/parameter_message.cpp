// Numbers in little endian, texts behind their length, in a fixed order behind a number for the form.
#include <nyala/strategies/parameter_server/parameter_message.h>

#include <array>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

/// Of the form of messages: another one is refused before anything else is read.
constexpr uint32_t kParameterForm = 0x4e795001;

void put(std::string& out, uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; ++byte) out += static_cast<char>((value >> (8 * byte)) & 0xff);
}

void put_text(std::string& out, const std::string& text) {
  put(out, text.size(), 4);
  out += text;
}

[[noreturn]] void fail(const std::string& reason) {
  throw CommunicationError("no message of a parameter server: " + reason);
}

uint64_t number(ByteReader& in, size_t bytes) {
  if (in.left() < bytes) fail("it ends inside of a number");
  std::array<std::byte, 8> read{};
  in.read(std::span(read).first(bytes));
  uint64_t value = 0;
  for (size_t byte = 0; byte < bytes; ++byte) value |= std::to_integer<uint64_t>(read[byte]) << (8 * byte);
  return value;
}

std::string text(ByteReader& in, size_t most) {
  const uint64_t size = number(in, 4);
  if (size > most) fail("a text has " + std::to_string(size) + " bytes, at most " + std::to_string(most));
  if (size > in.left()) fail("a text is longer than the message");
  std::string value(static_cast<size_t>(size), '\0');
  in.read(std::as_writable_bytes(std::span(value)));
  return value;
}

void expect_form(ByteReader& in) {
  if (number(in, 4) != kParameterForm)
    fail("it has another form; are all processes of one version of Nyala?");
}

}  // namespace

std::string encode(const ParameterCallHead& head) {
  std::string out;
  out.reserve(head.token.size() + head.header.size() + 20);
  put(out, kParameterForm, 4);
  put_text(out, head.token);
  put_text(out, head.header);
  put(out, head.bytes, 8);
  return out;
}

std::string encode(const ParameterAnswerHead& head) {
  std::string out;
  out.reserve(head.header.size() + 20);
  put(out, kParameterForm, 4);
  put(out, head.is_refused ? 1 : 0, 1);
  put_text(out, head.is_refused ? head.header.substr(0, kMaxRefusal) : head.header);
  put(out, head.bytes, 8);
  return out;
}

ParameterCallHead decode_parameter_call(ByteReader& message) {
  expect_form(message);
  ParameterCallHead head{.token = text(message, kMaxControlToken)};
  head.header = text(message, kMaxParameterHeader);
  head.bytes = number(message, 8);
  return head;
}

ParameterAnswerHead decode_parameter_answer(ByteReader& message) {
  expect_form(message);
  const uint64_t kind = number(message, 1);
  if (kind > 1) fail("a kind is unknown");
  ParameterAnswerHead head{.is_refused = kind == 1};
  head.header = text(message, kMaxParameterHeader);
  head.bytes = number(message, 8);
  return head;
}

void check_parameter_chunk(const ByteReader& message, uint64_t left) {
  if (message.left() != parameter_chunk(left))
    fail("a chunk of " + std::to_string(message.left()) + " bytes where " +
         std::to_string(parameter_chunk(left)) + " have to come");
}

}  // namespace nyala::detail
