#include <nyala/strategies/control/control_client.h>

#include <algorithm>
#include <utility>

#include <nyala/backend/runtime/system_random.h>
#include <nyala/strategies/control/control_quorum.h>
#include <nyala/strategies/communicators/host_name.h>

namespace nyala::detail {

using namespace std::chrono_literals;

ControlClient::ControlClient(ControlClientOptions config)
    : config_(std::move(config)),
      host_(host_name()),
      process_(system_random()),
      connection_(connect_control(config_.address, config_.security)) {
  if (!config_.is_elected) join();
}

ControlClient::~ControlClient() {
  try {
    if (is_reachable() && !has_left_) leave();
  } catch (const std::exception&) {  // it is gone itself
  }
  stop_watching();
}

ControlRequest ControlClient::request_of(ControlCall call) const {
  const std::lock_guard lock(mutex_);
  return {.call = call,
          .rank = config_.rank,
          .size = config_.size,
          .generation = generation_,
          .process = process_,
          .seen = seen_,
          .token = config_.security.token};
}

ControlReply ControlClient::ask(ControlRequest request, std::chrono::milliseconds timeout) const {
  constexpr auto kWay = 5s;  // the control plane says who is missing before the call itself gives up
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const std::shared_ptr<ControlConnection> way = connection();
  way->await(timeout);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  request.timeout_ms = static_cast<uint32_t>(std::clamp<int64_t>(left.count(), 0, 86'400'000));
  return decode_control_reply(way->call(encode(request), std::max(left, 0ms) + kWay));
}

void ControlClient::tell(ControlRequest request) const {
  constexpr auto kMost = 1s;
  const std::shared_ptr<ControlConnection> way = connection();
  way->await(0ms);
  request.timeout_ms = std::chrono::milliseconds(kMost).count();
  way->call(encode(request), kMost);
}

ControlReply ControlClient::ask_well(ControlRequest request, std::chrono::milliseconds timeout) const {
  ControlReply reply = ask(std::move(request), timeout);
  const std::string text = "rank " + std::to_string(config_.rank) + " on " + host_ + ": " + reply.text;
  switch (reply.status) {
    case ControlStatus::ok:
      return reply;
    case ControlStatus::timeout:
      throw TimeoutError(text);
    case ControlStatus::lost:
      throw PeerLostError(text);
    case ControlStatus::closing:
    case ControlStatus::elsewhere:
      throw ControlMovedError(text);
    case ControlStatus::refused:
    case ControlStatus::aborted:
    case ControlStatus::over:
      break;
  }
  throw CommunicationError(text);
}

/// A program's strategy may come when the control plane of the one before is about to close.
ControlReply ControlClient::ask_until_open(const ControlRequest& request,
                                           std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    try {
      return ask_well(request, std::max(left, 1ms));
    } catch (const ControlMovedError&) {
      if (left <= 50ms || config_.is_elected) throw;
    }
    std::this_thread::sleep_for(50ms);
  }
}

void ControlClient::aim_at(const HostPort& address) {
  stop_watching();
  const std::lock_guard lock(mutex_);
  is_reachable_ = false;
  config_.address = address;
  connection_ = connect_control(address, config_.security);
}

void ControlClient::join(std::optional<std::chrono::milliseconds> timeout) {
  stop_watching();
  if (!config_.is_elected && generation() > 0 && !is_reachable()) {  // the connection was given up
    const std::lock_guard lock(mutex_);
    connection_ = connect_control(config_.address, config_.security);
  }
  ControlRequest request = request_of(ControlCall::join);
  request.bases = bases_;
  request.place = config_.place;
  request.name = host_.substr(0, kMaxControlName);
  request.value = config_.own_address;
  request.facts = config_.facts;
  const ControlReply reply = ask_until_open(request, timeout.value_or(config_.timeout));
  {
    const std::lock_guard lock(mutex_);
    generation_ = reply.generation;
    seen_ = reply.notices;
    has_left_ = false;
    rank_ = reply.rank;
    members_ = reply.members;
    is_reachable_ = true;
  }
  if (config_.is_elected) note_base(bases_, base(false));
  watch_connection_ = connect_control(config_.address, config_.security);
  watcher_ = std::thread([this, generation = reply.generation] { watch(generation); });
}

ControlBase ControlClient::base(bool is_established) const {
  const std::lock_guard lock(mutex_);
  ControlBase base{.generation = generation_, .is_established = is_established};
  for (const ControlMember& member : members_) base.processes.push_back(member.process);
  return base;
}

void ControlClient::confirm(std::optional<std::chrono::milliseconds> timeout) {
  if (!config_.is_elected) return;
  barrier("all have come", timeout);
  note_base(bases_, base(true));
}

uint64_t ControlClient::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

int ControlClient::rank() const {
  const std::lock_guard lock(mutex_);
  return rank_;
}

std::shared_ptr<ControlConnection> ControlClient::connection() const {
  const std::lock_guard lock(mutex_);
  return connection_;
}

bool ControlClient::is_reachable() const {
  const std::lock_guard lock(mutex_);
  return is_reachable_;
}

std::vector<ControlMember> ControlClient::members() const {
  const std::lock_guard lock(mutex_);
  return members_;
}

void ControlClient::notify(const ControlNotice& notice) const {
  if (config_.on_notice) config_.on_notice(notice);
}

/// Asks again and again, each question open for a heartbeat: the answer comes at once where there is news.
void ControlClient::watch(uint64_t generation) {
  std::optional<ControlNotice> end;
  while (!end) {
    const auto begun = std::chrono::steady_clock::now();
    try {
      end = heard_by_watch(generation);
    } catch (const CommunicationError& error) {
      if (this->generation() == 0) return;  // stop_watching()
      // Later than the answer could have been: this process was frozen, and the control plane may be well.
      if (std::chrono::steady_clock::now() - begun > 3 * config_.heartbeat + 500ms) continue;
      give_up_connection();
      return notify({.generation = generation, .is_lost = true, .text = error.what()});
    }
  }
  notify(*end);
  if (is_reachable()) say_that_it_lives(generation);
}

std::optional<ControlNotice> ControlClient::heard_by_watch(uint64_t generation) {
  ControlRequest request = request_of(ControlCall::watch);
  request.generation = generation;
  request.timeout_ms = static_cast<uint32_t>(std::clamp<int64_t>(config_.heartbeat.count(), 1, 86'400'000));
  const ControlReply reply =
      decode_control_reply(watch_connection_->call(encode(request), 3 * config_.heartbeat));
  if (reply.status == ControlStatus::closing) give_up_connection();
  if (reply.status != ControlStatus::ok)
    return ControlNotice{.generation = generation,
                         .rank = reply.rank,
                         .is_lost = reply.status == ControlStatus::lost,
                         .is_over = reply.status == ControlStatus::over,
                         .text = reply.text};
  const bool is_new = reply.notices > request.seen;
  if (is_new)
    notify({.kind = ControlNotice::Kind::preemption, .generation = generation, .text = reply.value});
  const std::lock_guard lock(mutex_);
  seen_ = reply.notices;
  return std::nullopt;
}

/// Between generations: who does other work for long is not frozen.
void ControlClient::say_that_it_lives(uint64_t generation) {
  for (auto last = std::chrono::steady_clock::now();;) {
    std::this_thread::sleep_for(20ms);
    if (this->generation() == 0) return;  // stop_watching()
    if (std::chrono::steady_clock::now() - last < config_.heartbeat) continue;
    last = std::chrono::steady_clock::now();
    ControlRequest request = request_of(ControlCall::watch);
    request.generation = generation;
    try {
      watch_connection_->call(encode(request), 3 * config_.heartbeat);
    } catch (const CommunicationError&) {  // stop_watching(), or it is gone: join() finds that out
      return;
    }
  }
}

/// Who asks now would wait for what is gone.
void ControlClient::give_up_connection() {
  const std::lock_guard lock(mutex_);
  is_reachable_ = false;
  connection_->cancel();
}

void ControlClient::stop_watching() {
  if (!watcher_.joinable()) return;
  uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    generation = std::exchange(generation_, 0);
  }
  watch_connection_->cancel();
  watcher_.join();
  const std::lock_guard lock(mutex_);
  generation_ = generation;
}

void ControlClient::set(std::string_view key, std::string_view value) {
  check_rendezvous_key(key);
  check_rendezvous_value(key, value);
  ControlRequest request = request_of(ControlCall::set);
  request.name = key;
  request.value = value;
  ask_well(std::move(request), config_.timeout);
}

std::optional<std::string> ControlClient::get(std::string_view key) {
  check_rendezvous_key(key);
  ControlRequest request = request_of(ControlCall::get);
  request.name = key;
  ControlReply reply = ask_well(std::move(request), config_.timeout);
  return reply.found ? std::optional(std::move(reply.value)) : std::nullopt;
}

std::string ControlClient::wait(std::string_view key, std::chrono::milliseconds timeout) {
  check_rendezvous_key(key);
  ControlRequest request = request_of(ControlCall::wait);
  request.name = key;
  return ask_well(std::move(request), timeout).value;
}

std::string ControlClient::describe() const {
  const std::lock_guard lock(mutex_);
  return "the control plane at " + config_.address.text();
}

void ControlClient::barrier(const std::string& name, std::optional<std::chrono::milliseconds> timeout) {
  ControlRequest request = request_of(ControlCall::barrier);
  request.name = name;
  ask_well(std::move(request), timeout.value_or(config_.timeout));
}

void ControlClient::agree(const std::string& name, const ControlFacts& facts,
                          std::optional<std::chrono::milliseconds> timeout) {
  ControlRequest request = request_of(ControlCall::agree);
  request.name = name;
  request.facts = facts;
  ask_well(std::move(request), timeout.value_or(config_.timeout));
}

void ControlClient::abort(const std::string& text, bool for_good) {
  ControlRequest request = request_of(ControlCall::abort);
  if (for_good) request.name = kForGood;
  request.value = text.substr(0, kMaxControlText / 2);
  tell(std::move(request));
}

void ControlClient::announce_preemption(const std::string& text) {
  ControlRequest request = request_of(ControlCall::preempt);
  request.name = host_.substr(0, kMaxControlName);
  request.value = text.substr(0, kMaxControlText / 2);
  ask_well(std::move(request), config_.timeout);
}

void ControlClient::leave() {
  has_left_ = true;
  tell(request_of(ControlCall::leave));
}

}  // namespace nyala::detail
