#include <nyala/strategies/parameter_server/coordinator_client.h>

#include <charconv>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/system_random.h>

namespace nyala::detail {

namespace {

/// Whoever waits for work waits as long as the chief lives: a connection that breaks is noticed by itself.
constexpr std::chrono::hours kAsLongAsItTakes{24 * 365};

SentBytes payload_of(std::span<const std::byte> bytes) {
  return bytes.empty() ? SentBytes{} : SentBytes{bytes};
}

ReceivedBytes no_payload(const std::string&, uint64_t bytes) {
  if (bytes > 0) throw CommunicationError("coordinator: an answer with a payload");
  return {};
}

}  // namespace

uint64_t whole_number_of(const std::string& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw CommunicationError("coordinator: expected a number, received " + in_quotes(text));
  return number;
}

CoordinatorClient::CoordinatorClient(std::unique_ptr<ParameterConnection> chief,
                                     std::chrono::milliseconds timeout)
    : chief_(std::move(chief)), timeout_(timeout), worker_(system_random()) {
  const CoordinatorReply hello = first_answer();
  job_ = hello.batch.id;
  seed_ = whole_number_of(hello.text);
  is_synchronous_ = hello.sizes == std::vector<uint64_t>{1};
  watch_ = chief_->start(encode(CoordinatorRequest{.call = CoordinatorCall::watch, .worker = worker_}), {},
                         no_payload, kAsLongAsItTakes);
  watcher_ = std::thread([this] { watch(); });
}

/// A chief that goes in this moment may be started again.
CoordinatorReply CoordinatorClient::first_answer() {
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  for (;;) {
    try {
      return ask({.call = CoordinatorCall::hello});
    } catch (const PeerLostError&) {
      if (std::chrono::steady_clock::now() >= deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

CoordinatorClient::~CoordinatorClient() {
  chief_->cancel();
  watcher_.join();
}

// It is never answered: it ends with the chief, or with cancel().
void CoordinatorClient::watch() {
  std::function<void()> call;
  try {
    watch_->wait();
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    lost_ = error.what();
    call = std::exchange(when_lost_, {});
  }
  chief_->cancel();
  if (call) call();
}

void CoordinatorClient::when_lost(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_.empty()) {
      when_lost_ = std::move(call);
      return;
    }
  }
  call();
}

CoordinatorReply CoordinatorClient::ask(CoordinatorRequest request, const SentBytes& sent,
                                        std::vector<std::byte>* received) {
  using Call = CoordinatorCall;
  request.worker = worker_;
  const bool waits = request.call == Call::join || request.call == Call::next || request.call == Call::meet ||
                     request.call == Call::function || request.call == Call::file;
  const auto place = [received](const std::string& header, uint64_t bytes) {
    if (!received) return no_payload(header, bytes);
    if (bytes > kMaxBrought * StepPiece::kMost) throw CommunicationError("coordinator: too many bytes");
    received->resize(bytes);
    return ReceivedBytes{std::span(*received)};
  };
  const CoordinatorReply reply = [&] {
    try {
      return decode_coordinator_reply(
          chief_->start(encode(request), sent, place, waits ? kAsLongAsItTakes : timeout_)->wait());
    } catch (const CommunicationError&) {
      const std::lock_guard lock(mutex_);
      if (!lost_.empty()) throw PeerLostError("ParameterServerStrategy: the chief is gone (" + lost_ + ")");
      const bool is_first = request.call == Call::hello;
      rethrow_with_prefix(
          is_first
              ? "ParameterServerStrategy: waiting for the chief, which `nyala launch` starts with --chief: "
              : "ParameterServerStrategy: ");
    }
  }();
  if (reply.kind == CoordinatorReply::Kind::failed) throw CommunicationError(reply.text);
  return reply;
}

CoordinatorReply CoordinatorClient::join(uint64_t training, const std::string& facts, int replicas) {
  return ask({.call = CoordinatorCall::join,
              .training = training,
              .id = static_cast<uint64_t>(replicas),
              .text = facts});
}

std::optional<std::vector<std::vector<std::byte>>> CoordinatorClient::meet(uint64_t training,
                                                                           const StepPiece& piece,
                                                                           uint64_t number,
                                                                           const std::string& what,
                                                                           std::span<const std::byte> bytes) {
  std::vector<std::byte> all;
  const CoordinatorReply reply =
      ask({.call = CoordinatorCall::meet, .training = training, .id = number, .piece = piece, .text = what},
          payload_of(bytes), &all);
  if (reply.kind != CoordinatorReply::Kind::brought) return std::nullopt;
  std::vector<std::vector<std::byte>> of_pieces;
  uint64_t first = 0;
  for (const uint64_t size : reply.sizes) {
    if (size > all.size() - first) throw CommunicationError("coordinator: fewer bytes than it said");
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    of_pieces.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    first += size;
  }
  if (std::ssize(of_pieces) != piece.pieces)
    throw CommunicationError("coordinator: other pieces than the step has");
  return of_pieces;
}

CoordinatorReply CoordinatorClient::next(uint64_t training) {
  return ask({.call = CoordinatorCall::next, .training = training});
}

void CoordinatorClient::done(uint64_t training, const DispensedBatch& batch,
                             const std::vector<double>& values) {
  ask({.call = CoordinatorCall::done,
       .training = training,
       .id = batch.id,
       .piece = batch.piece,
       .values = values});
}

void CoordinatorClient::ended(uint64_t training, uint64_t id) {
  ask({.call = CoordinatorCall::ended, .training = training, .id = id});
}

void CoordinatorClient::left(uint64_t training) noexcept {
  try {
    ask({.call = CoordinatorCall::left, .training = training});
  } catch (...) {  // the chief is gone, or has lost this worker
  }
}

void CoordinatorClient::behind(uint64_t training, const StepPiece& piece) {
  ask({.call = CoordinatorCall::behind, .training = training, .piece = piece});
}

std::optional<CoordinatorClient::Function> CoordinatorClient::next_function() {
  Function function;
  const CoordinatorReply reply = ask({.call = CoordinatorCall::function}, {}, &function.arguments);
  if (reply.kind == CoordinatorReply::Kind::is_over) return std::nullopt;
  function.id = reply.batch.id;
  function.name = reply.text;
  return function;
}

void CoordinatorClient::returned(uint64_t function, std::span<const std::byte> bytes) {
  ask({.call = CoordinatorCall::returned, .id = function}, payload_of(bytes));
}

void CoordinatorClient::threw(uint64_t function, std::span<const std::byte> error) {
  ask({.call = CoordinatorCall::threw, .id = function}, payload_of(error));
}

void CoordinatorClient::await_file(const std::string& path, uint64_t times) {
  ask({.call = CoordinatorCall::file, .id = times, .text = path});
}

void CoordinatorClient::fail(uint64_t training, const std::string& why) noexcept {
  try {
    ask({.call = CoordinatorCall::fail, .training = training, .text = why.substr(0, kMaxCoordinatorText)});
  } catch (...) {  // the chief is gone, and whoever failed says so itself
  }
}

}  // namespace nyala::detail
