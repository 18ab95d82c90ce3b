#include <nyala/strategies/parameter_server/server_message.h>

#include <gtest/gtest.h>

#include <nyala/strategies/parameter_server/coordinator_message.h>

namespace nyala::detail {
namespace {

TEST(ServerMessage, EveryKindOfCallComesThrough) {
  for (int kind = 0; kind <= static_cast<int>(ParameterCallKind::stop); ++kind) {
    const ParameterRequest request{.kind = static_cast<ParameterCallKind>(kind)};
    EXPECT_EQ(decode_parameter_request(encode(request)).kind, request.kind) << kind;
  }
  std::string unknown = encode(ParameterRequest{.kind = ParameterCallKind::stop});
  ++unknown[4];  // behind the form
  EXPECT_THROW(decode_parameter_request(unknown), CommunicationError);
}

TEST(ServerMessage, EveryKindOfQuestionToTheChiefComesThrough) {
  for (int kind = 0; kind <= static_cast<int>(CoordinatorCall::fail); ++kind) {
    const CoordinatorRequest request{.call = static_cast<CoordinatorCall>(kind)};
    EXPECT_EQ(decode_coordinator_request(encode(request)).call, request.call) << kind;
  }
  for (int kind = 0; kind <= static_cast<int>(CoordinatorReply::Kind::failed); ++kind) {
    const CoordinatorReply reply{.kind = static_cast<CoordinatorReply::Kind>(kind)};
    EXPECT_EQ(decode_coordinator_reply(encode(reply)).kind, reply.kind) << kind;
  }
}

}  // namespace
}  // namespace nyala::detail
