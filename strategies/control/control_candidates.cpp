#include <nyala/strategies/control/control_candidates.h>

#include <algorithm>
#include <future>
#include <tuple>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/port_probe.h>

namespace nyala::detail {

namespace {

void ask_where(ControlSight& sight, const ControlLook& look) {
  const auto deadline = std::chrono::steady_clock::now() + look.timeout;
  const auto left = [&] {
    const auto time =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return std::max(time, std::chrono::milliseconds(1));
  };
  const std::unique_ptr<ControlConnection> way = connect_control(sight.candidate.address, look.security);
  way->await(left());
  const ControlReply reply =
      decode_control_reply(way->call(encode(ControlRequest{.call = ControlCall::find,
                                                           .rank = look.rank,
                                                           .size = look.size,
                                                           .token = look.security.token,
                                                           .value = look.own_address}),
                                     left()));
  sight.generation = reply.generation;
  sight.has_generation = reply.found;
  if (reply.status == ControlStatus::ok) sight.kind = ControlSight::Kind::serves;
  if (reply.status != ControlStatus::elsewhere) return;
  sight.kind = ControlSight::Kind::waits;
  if (const auto address = parse_address(reply.value))
    sight.elsewhere = ControlCandidate{reply.rank, *address};
}

ControlSight sight_of(const ControlCandidate& candidate, const ControlLook& look) {
  ControlSight sight{.candidate = candidate};
  const PortState port = probe_port(candidate.address, look.timeout);
  if (port == PortState::refused) sight.kind = ControlSight::Kind::gone;
  if (port != PortState::open) return sight;
  try {
    ask_where(sight, look);
  } catch (const std::exception&) {  // it is frozen, or no process of this cluster
  }
  return sight;
}

}  // namespace

std::string ControlSight::text() const {
  const std::string who = "rank " + std::to_string(candidate.rank) + " at " + candidate.address.text();
  switch (kind) {
    case Kind::gone:
      return who + " is gone: nobody listens there";
    case Kind::silent:
      return who + " does not answer";
    case Kind::waits:
      return who +
             (elsewhere ? " says that the control plane is at " + elsewhere->address.text() : " waits, too");
    case Kind::serves:
      break;
  }
  return who + " serves";
}

std::vector<ControlSight> look_at(std::span<const ControlCandidate> candidates, const ControlLook& look) {
  std::vector<std::future<ControlSight>> asked;
  for (const ControlCandidate& candidate : candidates)
    asked.push_back(std::async([&look, candidate] { return sight_of(candidate, look); }));
  std::vector<ControlSight> sights;
  for (std::future<ControlSight>& one : asked) sights.push_back(one.get());
  return sights;
}

bool is_better_server(const ControlSight& one, const ControlSight& other) {
  const auto order = [](const ControlSight& sight) {
    return std::tuple(sight.has_generation, sight.generation, -sight.candidate.rank);
  };
  return order(one) > order(other);
}

const ControlSight* best_server(std::span<const ControlSight> sights) {
  const ControlSight* best = nullptr;
  for (const ControlSight& sight : sights)
    if (sight.kind == ControlSight::Kind::serves && (!best || is_better_server(sight, *best))) best = &sight;
  return best;
}

}  // namespace nyala::detail
