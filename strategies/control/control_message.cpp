#include <nyala/strategies/control/control_message.h>

#include <nyala/strategies/control/message_bytes.h>

namespace nyala::detail {

namespace {

/// Of the form of messages: another one is refused before anything else is read.
constexpr uint32_t kControlForm = 0x4e790003;

constexpr std::string_view kWho = "control plane: ";

}  // namespace

std::string encode(const ControlRequest& request) {
  MessageWriter out(kWho, kControlForm);
  out.number(static_cast<uint8_t>(request.call));
  out.number(request.rank);
  out.number(request.size);
  out.number(request.timeout_ms);
  out.number(request.generation);
  out.number(request.process);
  out.number(request.seen);
  out.text(request.token, kMaxControlToken, "a token");
  out.text(request.name, kMaxControlName, "a name");
  out.text(request.value, kMaxControlText, "a value");
  out.text(request.place, kMaxControlName, "a place");
  out.count(request.facts.size(), kMaxControlFacts, "facts");
  for (const auto& [name, value] : request.facts) {
    out.text(name, kMaxControlName, "a fact's name");
    out.text(value, kMaxControlName, "a fact");
  }
  out.count(request.bases.size(), kMaxControlBases, "bases");
  for (const ControlBase& base : request.bases) {
    out.number(base.generation);
    out.number(static_cast<uint8_t>(base.is_established));
    out.count(base.processes.size(), kMaxControlMembers, "processes of a generation");
    for (const uint64_t process : base.processes) out.number(process);
  }
  return std::move(out).take();
}

std::string encode(const ControlReply& reply) {
  MessageWriter out(kWho, kControlForm);
  out.number(static_cast<uint8_t>(reply.status));
  out.number(static_cast<uint8_t>(reply.found));
  out.number(reply.rank);
  out.number(reply.generation);
  out.number(reply.notices);
  out.text(reply.value, kMaxControlText, "a value");
  out.text(reply.text, kMaxControlText, "a text");
  out.count(reply.members.size(), kMaxControlMembers, "members");
  for (const ControlMember& member : reply.members) {
    out.text(member.host, kMaxControlName, "a host");
    out.text(member.address, kMaxControlName, "an address");
    out.text(member.place, kMaxControlName, "a place");
    out.number(member.started_as);
    out.number(member.process);
  }
  return std::move(out).take();
}

ControlRequest decode_control_request(std::string_view bytes) {
  MessageReader in(kWho, bytes, kMaxControlMessage);
  in.expect_form(kControlForm);
  ControlRequest request;
  request.call = in.kind(ControlCall::find);
  request.rank = in.number<int32_t>();
  request.size = in.number<int32_t>();
  request.timeout_ms = in.number<uint32_t>();
  request.generation = in.number<uint64_t>();
  request.process = in.number<uint64_t>();
  request.seen = in.number<uint64_t>();
  request.token = in.text(kMaxControlToken);
  request.name = in.text(kMaxControlName);
  request.value = in.text(kMaxControlText);
  request.place = in.text(kMaxControlName);
  for (uint32_t left = in.count(kMaxControlFacts); left > 0; --left) {
    std::string name = in.text(kMaxControlName);
    request.facts.emplace_back(std::move(name), in.text(kMaxControlName));
  }
  for (uint32_t left = in.count(kMaxControlBases); left > 0; --left) {
    ControlBase base{.generation = in.number<uint64_t>(), .is_established = in.number<uint8_t>() != 0};
    for (uint32_t more = in.count(kMaxControlMembers); more > 0; --more)
      base.processes.push_back(in.number<uint64_t>());
    request.bases.push_back(std::move(base));
  }
  in.expect_end();
  return request;
}

ControlReply decode_control_reply(std::string_view bytes) {
  MessageReader in(kWho, bytes, kMaxControlMessage);
  in.expect_form(kControlForm);
  ControlReply reply;
  reply.status = in.kind(ControlStatus::elsewhere);
  reply.found = in.number<uint8_t>() != 0;
  reply.rank = in.number<int32_t>();
  reply.generation = in.number<uint64_t>();
  reply.notices = in.number<uint64_t>();
  reply.value = in.text(kMaxControlText);
  reply.text = in.text(kMaxControlText);
  for (uint32_t left = in.count(kMaxControlMembers); left > 0; --left) {
    std::string host = in.text(kMaxControlName), address = in.text(kMaxControlName);
    std::string place = in.text(kMaxControlName);
    const auto started_as = in.number<int32_t>();
    reply.members.push_back(
        {std::move(host), std::move(address), std::move(place), started_as, in.number<uint64_t>()});
  }
  in.expect_end();
  return reply;
}

}  // namespace nyala::detail
