#include <nyala/strategies/parameter_server/parameter_message.h>

#include <random>

#include <gtest/gtest.h>

#include <nyala/tests/support/error_text.h>

namespace nyala::detail {
namespace {

ByteReader reader_of(const std::string& text) { return ByteReader({std::as_bytes(std::span(text))}); }

TEST(ParameterMessage, HeadsComeBack) {
  const std::string call = encode(
      ParameterCallHead{.token = "secret", .header = std::string("a\0b", 3), .bytes = uint64_t{5} << 33});
  const std::string text = call + "rest";
  ByteReader in = reader_of(text);
  const ParameterCallHead head = decode_parameter_call(in);
  EXPECT_EQ(head.token, "secret");
  EXPECT_EQ(head.header, std::string("a\0b", 3));
  EXPECT_EQ(head.bytes, uint64_t{5} << 33);
  EXPECT_EQ(in.left(), 4u);
  const std::string refusal =
      encode(ParameterAnswerHead{.is_refused = true, .header = std::string(9999, 'x')});
  ByteReader refused = reader_of(refusal);
  const ParameterAnswerHead answer = decode_parameter_answer(refused);
  EXPECT_TRUE(answer.is_refused);
  EXPECT_EQ(answer.header, std::string(kMaxRefusal, 'x'));
}

TEST(ParameterMessage, HeadsThatAreCutAreErrors) {
  const std::string call = encode(ParameterCallHead{.token = "secret", .header = "header", .bytes = 7});
  const std::string answer = encode(ParameterAnswerHead{.header = "header", .bytes = 7});
  for (size_t size = 0; size < call.size(); ++size) {
    const std::string cut = call.substr(0, size);
    ByteReader in = reader_of(cut);
    EXPECT_THROW(decode_parameter_call(in), CommunicationError) << size;
  }
  for (size_t size = 0; size < answer.size(); ++size) {
    const std::string cut = answer.substr(0, size);
    ByteReader in = reader_of(cut);
    EXPECT_THROW(decode_parameter_answer(in), CommunicationError) << size;
  }
}

TEST(ParameterMessage, NoLengthIsBelieved) {
  std::string call = encode(ParameterCallHead{.token = "secret", .header = "header"});
  call[4] = call[5] = call[6] = call[7] = '\xff';  // the token's
  ByteReader in = reader_of(call);
  expect_error<CommunicationError>([&] { decode_parameter_call(in); }, {"4294967295 bytes, at most 4096"});
  std::string other = encode(ParameterCallHead{});
  other[0] ^= 1;
  ByteReader form = reader_of(other);
  expect_error<CommunicationError>([&] { decode_parameter_call(form); }, {"one version of Nyala"});
}

TEST(ParameterMessage, RandomBytesAreErrorsOrHeads) {
  std::mt19937 random(7);
  const std::string good = encode(ParameterCallHead{.token = "secret", .header = "header", .bytes = 9});
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int change = 0; change < 1 + i % 4; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    for (int kind = 0; kind < 2; ++kind) {
      ByteReader in = reader_of(bytes);
      try {
        if (kind == 0)
          EXPECT_LE(decode_parameter_call(in).header.size(), bytes.size());
        else
          EXPECT_LE(decode_parameter_answer(in).header.size(), bytes.size());
      } catch (const CommunicationError&) {
      }
    }
  }
}

TEST(ParameterBytes, SumsOfSizesAreHeldAgainst64Bits) {
  const SentBytes far(3, std::span(static_cast<const std::byte*>(nullptr), size_t{1} << 63));
  expect_error<CommunicationError>([&] { total_bytes(far); }, {"64 bits"});
}

TEST(ParameterBytes, NothingIsReadOrWrittenBehindTheEnd) {
  const std::string text = "12345";
  std::string small(3, ' '), large(9, ' ');
  ByteReader in = reader_of(text);
  ByteWriter out({{}, std::as_writable_bytes(std::span(small)), {}});
  expect_error<CommunicationError>([&] { out.write(in, 4); }, {"4 bytes of places with 3"});
  expect_error<CommunicationError>([&] { in.read(std::as_writable_bytes(std::span(large))); },
                                   {"9 bytes of pieces with 5"});
  out.write(in, 3);
  EXPECT_EQ(small, "123");
  EXPECT_EQ(in.left(), 2u);
}

}  // namespace
}  // namespace nyala::detail
