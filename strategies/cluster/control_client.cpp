#include <nyala/strategies/cluster/control_client.h>

#include <algorithm>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/system_random.h>
#include <nyala/strategies/comm/host_name.h>

namespace nyala::detail {

using namespace std::chrono_literals;

ControlClient::ControlClient(ControlClientOptions config)
    : config_(std::move(config)),
      host_(host_name()),
      process_(system_random()),
      connection_(connect_control(config_.address, config_.security)) {
  join();
}

ControlClient::~ControlClient() {
  try {
    if (is_reachable()) leave();
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
  request.timeout_ms = static_cast<uint32_t>(std::clamp<int64_t>(timeout.count(), 0, 86'400'000));
  return decode_control_reply(connection_->call(encode(request), timeout + kWay));
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
    case ControlStatus::refused:
    case ControlStatus::aborted:
      break;
  }
  throw CommunicationError(text);
}

void ControlClient::join() {
  stop_watching();
  ControlRequest request = request_of(ControlCall::join);
  request.name = host_.substr(0, kMaxControlName);
  request.value = config_.own_address;
  request.facts = config_.facts;
  const ControlReply reply = ask_well(std::move(request), config_.timeout);
  {
    const std::lock_guard lock(mutex_);
    generation_ = reply.generation;
    seen_ = reply.notices;
    members_ = reply.members;
    is_reachable_ = true;
  }
  watch_connection_ = connect_control(config_.address, config_.security);
  watcher_ = std::thread([this, generation = reply.generation] { watch(generation); });
}

uint64_t ControlClient::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
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
  while (true) {
    ControlRequest request = request_of(ControlCall::watch);
    request.generation = generation;
    ControlReply reply;
    try {
      reply = decode_control_reply(watch_connection_->call(encode(request), 3 * config_.heartbeat));
    } catch (const CommunicationError& error) {
      const std::lock_guard lock(mutex_);
      if (generation_ == 0) return;  // stop_watching()
      is_reachable_ = false;
      return notify({.is_lost = true, .text = error.what()});
    }
    if (reply.status != ControlStatus::ok)
      return notify({.rank = reply.rank, .is_lost = reply.status == ControlStatus::lost, .text = reply.text});
    const bool is_new = reply.notices > request.seen;
    if (is_new) notify({.kind = ControlNotice::Kind::preemption, .text = reply.value});
    const std::lock_guard lock(mutex_);
    seen_ = reply.notices;
  }
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

std::string ControlClient::describe() const { return "the control plane at " + config_.address.text(); }

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

void ControlClient::abort(const std::string& text) {
  ControlRequest request = request_of(ControlCall::abort);
  request.value = text.substr(0, kMaxControlText / 2);
  ask(std::move(request), 1s);
}

void ControlClient::announce_preemption(const std::string& text) {
  ControlRequest request = request_of(ControlCall::preempt);
  request.name = host_.substr(0, kMaxControlName);
  request.value = text.substr(0, kMaxControlText / 2);
  ask_well(std::move(request), config_.timeout);
}

void ControlClient::leave() { ask(request_of(ControlCall::leave), 1s); }

}  // namespace nyala::detail
