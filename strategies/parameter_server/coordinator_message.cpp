#include <nyala/strategies/parameter_server/coordinator_message.h>

#include <bit>

#include <nyala/strategies/control/message_bytes.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>
#include <nyala/strategies/parameter_server/server_message.h>

namespace nyala::detail {

namespace {

constexpr uint32_t kCoordinatorForm = 0x4e790205;
constexpr std::string_view kCoordinatorWho = "coordinator: ";

}  // namespace

std::string encode(const CoordinatorRequest& request) {
  MessageWriter out(kCoordinatorWho, kCoordinatorForm);
  out.number(static_cast<uint8_t>(request.call));
  out.number(request.worker);
  out.number(request.training);
  out.number(request.id);
  write_piece(out, request.piece);
  out.text(request.text, kMaxCoordinatorText, "a text");
  out.count(request.values.size(), kMaxCoordinatorValues, "values");
  for (const double value : request.values) out.number(std::bit_cast<uint64_t>(value));
  return std::move(out).take();
}

std::string encode(const CoordinatorReply& reply) {
  MessageWriter out(kCoordinatorWho, kCoordinatorForm);
  out.number(static_cast<uint8_t>(reply.kind));
  out.number(reply.batch.id);
  out.number(reply.batch.epoch);
  out.number(reply.batch.batch);
  out.number(reply.batch.step);
  out.number(static_cast<uint8_t>(reply.batch.pull_first));
  write_piece(out, reply.batch.piece);
  out.text(reply.text, kMaxCoordinatorText, "a text");
  out.count(reply.sizes.size(), StepPiece::kMost, "sizes");
  for (const uint64_t size : reply.sizes) out.number(size);
  return std::move(out).take();
}

CoordinatorRequest decode_coordinator_request(std::string_view bytes) {
  MessageReader in(kCoordinatorWho, bytes, kMaxParameterHeader);
  in.expect_form(kCoordinatorForm);
  CoordinatorRequest request{.call = in.kind(CoordinatorCall::fail)};
  request.worker = in.number<uint64_t>();
  request.training = in.number<uint64_t>();
  request.id = in.number<uint64_t>();
  request.piece = read_piece(in);
  request.text = in.text(kMaxCoordinatorText);
  for (uint32_t left = in.count(kMaxCoordinatorValues); left > 0; --left)
    request.values.push_back(std::bit_cast<double>(in.number<uint64_t>()));
  in.expect_end();
  return request;
}

CoordinatorReply decode_coordinator_reply(std::string_view bytes) {
  MessageReader in(kCoordinatorWho, bytes, kMaxParameterHeader);
  in.expect_form(kCoordinatorForm);
  CoordinatorReply reply{.kind = in.kind(CoordinatorReply::Kind::failed)};
  reply.batch.id = in.number<uint64_t>();
  reply.batch.epoch = in.number<int64_t>();
  reply.batch.batch = in.number<int64_t>();
  reply.batch.step = in.number<int64_t>();
  reply.batch.pull_first = in.number<uint8_t>() != 0;
  reply.batch.piece = read_piece(in);
  reply.text = in.text(kMaxCoordinatorText);
  for (uint32_t left = in.count(StepPiece::kMost); left > 0; --left)
    reply.sizes.push_back(in.number<uint64_t>());
  in.expect_end();
  return reply;
}

}  // namespace nyala::detail
