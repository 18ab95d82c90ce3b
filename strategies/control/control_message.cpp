// Numbers in little endian, texts behind their length, in a fixed order behind a number for the form. The
// reader believes no length: each is held against a limit and against the bytes that are left before anything
// is made.
#include <nyala/strategies/control/control_message.h>

#include <type_traits>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

/// Of the form of messages: another one is refused before anything else is read.
constexpr uint32_t kControlForm = 0x4e790003;

class ControlWriter {
 public:
  template <class Number>
  void number(Number value) {
    using Bits = std::make_unsigned_t<Number>;
    for (size_t byte = 0; byte < sizeof(Number); ++byte)
      bytes_ += static_cast<char>((static_cast<Bits>(value) >> (8 * byte)) & 0xff);
  }
  void text(const std::string& value, size_t most, const char* what) {
    if (value.size() > most)
      throw InvalidArgumentError("control plane: " + std::string(what) + " of " +
                                 std::to_string(value.size()) + " bytes, at most " + std::to_string(most));
    number(static_cast<uint32_t>(value.size()));
    bytes_ += value;
  }
  void count(size_t size, size_t most, const char* what) {
    if (size > most)
      throw InvalidArgumentError("control plane: " + std::to_string(size) + " " + what + ", at most " +
                                 std::to_string(most));
    number(static_cast<uint32_t>(size));
  }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ControlReader {
 public:
  explicit ControlReader(std::string_view bytes) : bytes_(bytes) {
    if (bytes.size() > kMaxControlMessage) fail("it is longer than 4 MB");
  }

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
  std::string text(size_t most) {
    const uint32_t size = number<uint32_t>();
    if (size > most) fail("a text is longer than it may be");
    if (size > bytes_.size() - place_) fail("a text is longer than the message");
    place_ += size;
    return std::string(bytes_.substr(place_ - size, size));
  }
  uint32_t count(size_t most) {
    const uint32_t size = number<uint32_t>();
    if (size > most) fail("a list is longer than it may be");
    return size;
  }
  template <class Kind>
  Kind kind(Kind last) {
    const uint8_t value = number<uint8_t>();
    if (value > static_cast<uint8_t>(last)) fail("a kind is unknown");
    return static_cast<Kind>(value);
  }
  void expect_form() {
    if (number<uint32_t>() != kControlForm)
      fail("it has another form; are all processes of one version of Nyala?");
  }
  void expect_end() {
    if (place_ != bytes_.size()) fail("bytes are left over");
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw CommunicationError("control plane: no message (at byte " + std::to_string(place_) + " of " +
                             std::to_string(bytes_.size()) + "): " + reason);
  }

  std::string_view bytes_;
  size_t place_ = 0;
};

}  // namespace

std::string encode(const ControlRequest& request) {
  ControlWriter out;
  out.number(kControlForm);
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
  ControlWriter out;
  out.number(kControlForm);
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
  ControlReader in(bytes);
  in.expect_form();
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
  ControlReader in(bytes);
  in.expect_form();
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
