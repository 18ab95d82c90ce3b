// Of the control plane where each process could serve: who does, and who may go on without the others.
#include <algorithm>
#include <utility>

#include <nyala/strategies/control/control_quorum.h>
#include <nyala/strategies/control/control_state.h>

namespace nyala::detail {

// What this process served before it stood by is over.
void ControlState::serve(uint64_t generation) {
  const std::lock_guard lock(mutex_);
  newest_ = std::max(newest_, generation);
  if (!std::exchange(stands_by_, false)) return;
  members_.clear();
  lives_.clear();
  keys_.clear();
  key_bytes_ = 0;
  dead_.clear();
  given_up_.clear();
  ended_ = ControlReply{.status = ControlStatus::aborted, .text = "no generation has begun here"};
}

void ControlState::stand_by(int rank, const std::string& address, uint64_t generation) {
  {
    const std::lock_guard lock(mutex_);
    stands_by_ = true;
    server_rank_ = rank;
    server_address_ = address;
    newest_ = std::max(newest_, generation);
    answer_all([](const ControlRequest& request) { return request.call == ControlCall::join; },
               whereabouts());
  }
  deliver();
}

ControlReply ControlState::whereabouts() const {
  if (!stands_by_) return {.found = has_generation()};
  return {
      .status = ControlStatus::elsewhere,
      .rank = server_rank_,
      .value = server_address_,
      .text = server_address_.empty() ? "it does not serve" : "the control plane is at " + server_address_};
}

void ControlState::note_dead(std::set<int> dead, std::set<int> given_up, Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    dead_ = std::move(dead);
    given_up_ = std::move(given_up);
    if (!stands_by_) form_if_due(now);
  }
  deliver();
}

bool ControlState::serves() const {
  const std::lock_guard lock(mutex_);
  return !stands_by_;
}

std::map<int, std::string> ControlState::heard_from() const {
  const std::lock_guard lock(mutex_);
  return heard_from_;
}

std::pair<uint64_t, bool> ControlState::standing() const {
  const std::lock_guard lock(mutex_);
  return {std::max(generation_, newest_), !stands_by_ && has_generation()};
}

std::vector<int> ControlState::absent_ranks() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> ranks;
  if (stands_by_ || has_generation()) return ranks;
  const std::vector<int> here = who_waits({.call = ControlCall::join});
  for (int rank = 0; rank < config_.size; ++rank)
    if (!std::binary_search(here.begin(), here.end(), rank)) ranks.push_back(rank);
  return ranks;
}

/// Of a generation for which nobody else has to be waited for.
int ControlState::expected_size() const {
  if (!config_.is_elected) return config_.size - static_cast<int>(gone_.size());
  const std::vector<int> here = who_waits({.call = ControlCall::join});
  const auto is_gone = [&](int rank) { return !std::binary_search(here.begin(), here.end(), rank); };
  return config_.size - static_cast<int>(std::ranges::count_if(given_up_, is_gone));
}

/// Why those who wait may not go on by themselves: others may do so, too. Empty where they may.
std::string ControlState::quorum_lack() const {
  if (!config_.is_elected) return "";
  std::set<uint64_t> processes;
  std::set<int> ranks = dead_;
  std::vector<ControlBase> known;
  for (const auto& [id, question] : questions_) {
    const ControlRequest& request = question.request;
    if (request.call != ControlCall::join || question.is_contested) continue;
    processes.insert(request.process);
    ranks.insert(request.rank);
    known.insert(known.end(), request.bases.begin(), request.bases.end());
  }
  if (ranks.size() == static_cast<size_t>(config_.size)) return "";
  const auto lack = [](size_t count, size_t all, const std::string& of_what) {
    return ". Without a majority of " + of_what + " (" + std::to_string(count) + " of " +
           std::to_string(all) + " are here) the others may go on by themselves";
  };
  const size_t all = static_cast<size_t>(config_.size);
  if (known.empty()) return 2 * processes.size() > all ? "" : lack(processes.size(), all, "all processes");
  const std::optional<ControlBase> base = base_without_majority(joint_bases(known), processes);
  if (!base) return "";
  const auto count =
      std::ranges::count_if(base->processes, [&](uint64_t one) { return processes.contains(one); });
  return lack(static_cast<size_t>(count), base->processes.size(),
              "generation " + std::to_string(base->generation));
}

}  // namespace nyala::detail
