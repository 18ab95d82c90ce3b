#include <nyala/strategies/control/control_message.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::detail {
namespace {

ControlRequest request() {
  return {.call = ControlCall::agree,
          .rank = 3,
          .size = 70000,
          .timeout_ms = 0xfffffffe,
          .generation = 0x0102030405060708,
          .process = ~uint64_t{0},
          .seen = 9,
          .token = std::string("t\0k", 3),
          .name = "model",
          .value = std::string(kMaxControlText, 'v'),
          .facts = {{"dtype", "float32"}, {"", ""}},
          .bases = {{.generation = 7, .is_established = true, .processes = {1, ~uint64_t{0}}},
                    {.generation = 8}}};
}

ControlReply reply() {
  return {.status = ControlStatus::lost,
          .found = true,
          .rank = -1,
          .generation = 5,
          .notices = 2,
          .value = "value",
          .text = "why",
          .members = {{"a", "a:1", "one"}, {"b", "", "", 7, ~uint64_t{1}}}};
}

TEST(ControlMessage, ComesBackAsItWas) {
  const ControlRequest in = request(), out = decode_control_request(encode(in));
  EXPECT_EQ(out.call, in.call);
  EXPECT_EQ(out.rank, in.rank);
  EXPECT_EQ(out.size, in.size);
  EXPECT_EQ(out.timeout_ms, in.timeout_ms);
  EXPECT_EQ(out.generation, in.generation);
  EXPECT_EQ(out.process, in.process);
  EXPECT_EQ(out.seen, in.seen);
  EXPECT_EQ(out.token, in.token);
  EXPECT_EQ(out.name, in.name);
  EXPECT_EQ(out.value, in.value);
  EXPECT_EQ(out.facts, in.facts);
  EXPECT_EQ(out.bases, in.bases);
  const ControlReply answer = decode_control_reply(encode(reply()));
  EXPECT_EQ(answer.status, ControlStatus::lost);
  EXPECT_TRUE(answer.found);
  EXPECT_EQ(answer.rank, -1);
  EXPECT_EQ(answer.generation, 5u);
  EXPECT_EQ(answer.notices, 2u);
  EXPECT_EQ(answer.value, "value");
  EXPECT_EQ(answer.text, "why");
  ASSERT_EQ(answer.members.size(), 2u);
  EXPECT_EQ(answer.members[1].host, "b");
  EXPECT_EQ(answer.members[1].started_as, 7);
  EXPECT_EQ(answer.members[1].process, ~uint64_t{1});
}

/// Every beginning of a message, and one with something behind it.
TEST(ControlMessage, OnlyWholeOnesAreTaken) {
  const std::string bytes = encode(reply());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(decode_control_reply(std::string_view(bytes).substr(0, size)), CommunicationError) << size;
  expect_error<CommunicationError>([&] { decode_control_reply(bytes + "x"); }, {"bytes are left over"});
}

TEST(ControlMessage, ClaimsAreNotBelieved) {
  const auto changed = [](size_t place, char to) {
    std::string bytes = encode(ControlReply{});
    bytes[place] = to;
    return bytes;
  };
  expect_error<CommunicationError>([&] { decode_control_reply(changed(0, '\x7f')); },
                                   {"another form", "one version"});
  expect_error<CommunicationError>([&] { decode_control_reply(changed(4, '\x7f')); }, {"a kind is unknown"});
  const size_t text = 4 + 1 + 1 + 4 + 8 + 8;
  expect_error<CommunicationError>([&] { decode_control_reply(changed(text + 3, '\x7f')); },
                                   {"at byte 30 of 38", "a text is longer than it may be"});
  expect_error<CommunicationError>([&] { decode_control_reply(changed(text, '\x7f')); },
                                   {"a text is longer than the message"});
  expect_error<CommunicationError>([&] { decode_control_reply(changed(text + 8 + 2, '\x7f')); },
                                   {"a list is longer than it may be"});
  expect_error<CommunicationError>([] { decode_control_reply(std::string(kMaxControlMessage + 1, 'x')); },
                                   {"4 MB"});
}

TEST(ControlMessage, WhatIsTooLongIsNotSent) {
  expect_error([] { encode(ControlRequest{.name = std::string(kMaxControlName + 1, 'n')}); },
               {"a name of 257 bytes, at most 256"});
  expect_error([] { encode(ControlRequest{.value = std::string(kMaxControlText + 1, 'v')}); }, {"a value"});
  expect_error([] { encode(ControlRequest{.facts = ControlFacts(65)}); }, {"65 facts, at most 64"});
  expect_error([] { encode(ControlRequest{.bases = std::vector<ControlBase>(65)}); },
               {"65 bases, at most 64"});
  expect_error([] { encode(ControlReply{.members = std::vector<ControlMember>(4097)}); }, {"4097 members"});
}

}  // namespace
}  // namespace nyala::detail
