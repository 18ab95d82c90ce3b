#include <nyala/strategies/control/control_election.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <utility>

#include <nyala/backend/core/log.h>

namespace nyala::detail {

using namespace std::chrono_literals;

namespace {

/// So many are asked at a time.
constexpr size_t kCandidates = 16;
constexpr auto kBetweenLooks = 200ms;

std::unique_ptr<ControlServer> listen(const ControlElectionOptions& options) {
  const auto at = [&](const HostPort& address) {
    return std::make_unique<ControlServer>(address, options.security,
                                           ControlStateOptions{.size = options.size,
                                                               .min_size = options.min_size,
                                                               .rejoin_timeout = options.rejoin_timeout,
                                                               .heartbeat = options.heartbeat,
                                                               .is_elected = true});
  };
  try {
    return at(options.own);
  } catch (const IoError& error) {
    if (options.rank == 0) throw;
    auto server = at(options.fallback);
    log(LogChannel::warning, std::string(error.what()) + " Rank " + std::to_string(options.rank) +
                                 " listens on " + server->address().text() +
                                 " instead: a process that is started again may not find it there");
    return server;
  }
}

void pause(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any ends;
  std::unique_lock lock(mutex);
  ends.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

/// To join one that serves, while a thread looks after that.
struct ControlElection::Attempt {
  ControlClient& client;
  const ControlCandidate& candidate;
  std::atomic<bool> is_given_up{false};

  void give_up() {
    is_given_up = true;
    client.cancel_join();
  }
};

ControlElection::ControlElection(ControlElectionOptions options)
    : options_(std::move(options)),
      look_{.rank = options_.rank, .size = options_.size, .security = options_.security},
      server_(listen(options_)),
      addresses_(options_.addresses) {
  addresses_.resize(static_cast<size_t>(options_.size));
  current_ = {options_.rank, own_address()};
  look_.own_address = own_address().text();
}

ControlElection::~ControlElection() = default;

std::chrono::milliseconds ControlElection::patience(bool is_first) const {
  if (is_first || options_.min_size == 0) return options_.timeout;
  return std::min(options_.timeout, options_.rejoin_timeout + 5 * options_.heartbeat);
}

void ControlElection::learn(const std::vector<ControlMember>& members) {
  for (const ControlMember& member : members) {
    met_.insert(member.started_as);
    learn(member.started_as, member.address);
  }
}

/// Whose addresses a cluster that names the first one alone does not tell.
void ControlElection::learn_of_askers() {
  for (const auto& [rank, address] : server_->heard_from()) learn(rank, address);
}

void ControlElection::learn(int rank, const std::string& address) {
  if (rank >= 0 && rank < options_.size && parse_address(address))
    addresses_[static_cast<size_t>(rank)] = address;
}

ControlSight ControlElection::own_sight() const {
  const auto [generation, lives] = server_->standing();
  return {.candidate = {options_.rank, own_address()},
          .kind = server_->serves() ? ControlSight::Kind::serves : ControlSight::Kind::waits,
          .generation = generation,
          .has_generation = lives};
}

/// Others than this process whose addresses are known.
std::vector<ControlCandidate> ControlElection::known(const std::vector<int>& ranks) const {
  std::vector<ControlCandidate> candidates;
  for (const int rank : ranks)
    if (const auto address = parse_address(addresses_[static_cast<size_t>(rank)]);
        address && rank != options_.rank)
      candidates.push_back({rank, *address});
  return candidates;
}

/// Also those that they name.
std::vector<ControlSight> ControlElection::see(std::vector<ControlCandidate> candidates) const {
  std::vector<ControlSight> sights = look_at(candidates, look_);
  std::vector<ControlCandidate> named;
  for (const ControlSight& sight : sights) {
    if (!sight.elsewhere || sight.elsewhere->rank == options_.rank) continue;
    const std::string address = sight.elsewhere->address.text();
    const auto is_same = [&](const ControlCandidate& one) { return one.address.text() == address; };
    if (std::ranges::none_of(candidates, is_same) && std::ranges::none_of(named, is_same))
      named.push_back(*sight.elsewhere);
  }
  for (ControlSight& sight : look_at(named, look_)) sights.push_back(std::move(sight));
  return sights;
}

/// Who served last, then in the order of ranks, until one is found that lives.
std::vector<ControlSight> ControlElection::look() {
  learn_of_askers();
  std::vector<int> ranks(static_cast<size_t>(options_.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<ControlCandidate> all = known(ranks);
  std::ranges::stable_partition(all, [&](const ControlCandidate& one) { return one.rank == current_.rank; });
  std::vector<ControlSight> sights;
  for (size_t begin = 0; begin < all.size(); begin += kCandidates) {
    const size_t end = std::min(begin + kCandidates, all.size());
    for (ControlSight& sight :
         see({all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)}))
      sights.push_back(std::move(sight));
    if (std::ranges::any_of(sights, &ControlSight::is_alive)) break;
  }
  return sights;
}

// One that is late to notice that the server is lost, or does other work, keeps the others for a while only.
bool ControlElection::may_serve(const std::vector<ControlSight>& sights, uint64_t generation,
                                Clock::time_point begun) const {
  if (options_.rank == 0) return true;
  if (generation == 0) return false;
  if (Clock::now() - begun > 3 * options_.heartbeat) return true;
  return std::ranges::none_of(sights, [&](const ControlSight& sight) {
    const bool could = sight.generation > 0 || sight.candidate.rank == 0;
    return sight.candidate.rank < options_.rank && sight.kind == ControlSight::Kind::waits && could;
  });
}

std::optional<ControlCandidate> ControlElection::choose(const std::vector<ControlSight>& sights,
                                                        uint64_t generation, Clock::time_point begun) {
  const ControlSight* const best = best_server(sights);
  const ControlSight own = own_sight();
  const bool serves = own.kind == ControlSight::Kind::serves;
  if (best && (!serves || is_better_server(*best, own))) {
    server_->stand_by(best->candidate.rank, best->candidate.address.text(), generation);
    return best->candidate;
  }
  if (!serves && !may_serve(sights, generation, begun)) return std::nullopt;
  server_->serve(generation);
  return own.candidate;
}

void ControlElection::join(ControlClient& client) {
  const uint64_t generation = client.generation();
  learn(client.members());
  const auto begun = Clock::now();
  const auto deadline = begun + patience(generation == 0);
  if (!server_->serves()) server_->stand_by(-1, "", generation);
  for (bool warned = false;;) {
    const std::vector<ControlSight> sights = look();
    if (const auto candidate = choose(sights, generation, begun);
        candidate && join_one(client, *candidate, deadline)) {
      current_ = *candidate;
      if (!server_->serves()) server_->stand_by(current_.rank, current_.address.text(), client.generation());
      return;
    }
    std::string seen;
    for (const ControlSight& sight : sights) seen += (seen.empty() ? "" : "; ") + sight.text();
    const std::string text = "control plane: rank " + std::to_string(options_.rank) + " finds none after " +
                             seconds_text(Clock::now() - begun) + ": " + seen;
    if (Clock::now() >= deadline) throw TimeoutError(text);
    if (Clock::now() - begun > 5s && !std::exchange(warned, true)) log(LogChannel::warning, text);
    std::this_thread::sleep_for(kBetweenLooks / 2);
  }
}

/// False where another one has to be looked for.
bool ControlElection::join_one(ControlClient& client, const ControlCandidate& candidate,
                               Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  Attempt attempt{client, candidate};
  client.aim_at(candidate.address);
  const std::jthread guarding([&](const std::stop_token& stop) { guard(stop, attempt); });
  try {
    client.join(std::max(left, 1ms));
    return true;
  } catch (const ControlMovedError&) {
    return false;
  } catch (const PeerLostError&) {
    return false;
  } catch (const CommunicationError& error) {
    if (attempt.is_given_up) return false;
    if (server_->serves()) server_->give_up(error.what());
    throw;
  }
}

void ControlElection::guard(const std::stop_token& stop, Attempt& attempt) try {
  for (auto heard = Clock::now(); !stop.stop_requested(); pause(stop, kBetweenLooks)) {
    if (attempt.candidate.rank == options_.rank) {
      if (guard_own()) continue;
      return;
    }
    const ControlSight sight = look_at({&attempt.candidate, 1}, look_).front();
    if (sight.kind == ControlSight::Kind::serves) heard = Clock::now();
    const bool is_lost =
        sight.kind == ControlSight::Kind::silent && Clock::now() - heard > 3 * options_.heartbeat;
    if (sight.kind != ControlSight::Kind::gone && !is_lost) continue;
    return attempt.give_up();
  }
} catch (const std::exception&) {  // no memory, no thread
  attempt.give_up();
}

/// Who is gone is not waited for; where another one serves better, all go there.
bool ControlElection::guard_own() {
  learn_of_askers();
  std::vector<ControlCandidate> awaited = known(server_->absent_ranks());
  if (awaited.size() > kCandidates) awaited.resize(kCandidates);
  if (awaited.empty()) return true;
  const std::vector<ControlSight> sights = see(std::move(awaited));
  std::set<int> gone, given_up;
  for (const ControlSight& sight : sights) {
    if (sight.kind != ControlSight::Kind::gone) continue;
    gone.insert(sight.candidate.rank);
    if (!options_.come_back && met_.contains(sight.candidate.rank)) given_up.insert(sight.candidate.rank);
  }
  server_->note_dead(std::move(gone), std::move(given_up));
  const ControlSight* const best = best_server(sights);
  if (!best || !is_better_server(*best, own_sight())) return true;
  server_->stand_by(best->candidate.rank, best->candidate.address.text(), 0);
  return false;
}

}  // namespace nyala::detail
