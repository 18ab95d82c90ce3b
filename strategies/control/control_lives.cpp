// Of the control plane: which processes live, and which do not come any more.
#include <algorithm>
#include <set>

#include <nyala/strategies/control/control_state.h>

namespace nyala::detail {

/// Also of those who are in no generation, or in one that is over.
void ControlState::note_life(const ControlRequest& request, Clock::time_point now) {
  const auto life = lives_.find(request.rank);
  if (life == lives_.end() || life->second.process != request.process) return;
  life->second.heard = now;
  if (request.call == ControlCall::leave) life->second.has_left = true;
}

/// Nobody waits for processes that do not come.
void ControlState::refuse_hopeless() {
  const int needed = config_.min_size > 0 ? config_.min_size : config_.size;
  const int left = config_.size - static_cast<int>(gone_.size());
  if (left >= needed) return;
  std::string who;
  for (const auto& [rank, how] : gone_)
    who += (who.empty() ? "rank " : "; rank ") + std::to_string(rank) + " " + how;
  answer_all([](const ControlRequest& request) { return request.call == ControlCall::join; },
             {.status = ControlStatus::lost,
              .rank = gone_.begin()->first,
              .text = who + ", and no other process is started in its place: " + std::to_string(left) +
                      " of " + std::to_string(config_.size) + " processes are left, " +
                      std::to_string(needed) + " are needed"});
}

bool ControlState::have_all_left() const {
  return std::ranges::all_of(members_, [](const auto& entry) { return entry.second.has_left; });
}

bool ControlState::takes_newcomers() const {
  const auto said = keys_.find(kTakesNewcomers);
  return have_all_left() || (said != keys_.end() && said->second == "1");
}

/// Those who wait to be taken in.
void ControlState::admit_newcomers(Clock::time_point now) {
  if (!has_generation() || !takes_newcomers()) return;
  std::vector<uint64_t> ids;
  for (const auto& [id, question] : questions_)
    if (question.request.call == ControlCall::join && !members_.contains(question.request.rank))
      ids.push_back(id);
  for (const uint64_t id : ids)
    if (questions_.contains(id)) join(id, now);
}

void ControlState::process_ended(int rank, const std::string& how, bool comes_back, Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    now_ = now;
    lives_.erase(rank);
    if (!comes_back) gone_[rank] = how;
    if (const auto member = members_.find(rank); member != members_.end() && !member->second.has_left)
      end_generation(member->second.rank, ControlStatus::lost, name_of(rank) + " was lost: it " + how);
    form_if_due(now);
    refuse_hopeless();
  }
  deliver();
}

bool ControlState::has_left(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto life = lives_.find(rank);
  return life != lives_.end() && life->second.has_left;
}

std::vector<SilentProcess> ControlState::left_behind(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  Clock::duration patience = config_.rejoin_timeout;
  std::set<int> heard;
  for (const auto& [id, question] : questions_) {
    const ControlCall call = question.request.call;
    if (call == ControlCall::join) patience = std::min(patience, (question.deadline - question.asked) / 2);
    if (call == ControlCall::join || call == ControlCall::watch) heard.insert(question.request.rank);
  }
  std::vector<SilentProcess> silent;
  for (const auto& [rank, life] : lives_) {
    const bool is_awaited = ended_ || !members_.contains(rank);
    if (life.has_left || !is_awaited || heard.contains(rank)) continue;
    const auto silence = now - life.heard;
    if (silence > 3 * config_.heartbeat + patience)
      silent.push_back({rank, std::chrono::duration_cast<std::chrono::milliseconds>(silence)});
  }
  return silent;
}

std::vector<AwaitedProcess> ControlState::awaited(Clock::time_point now) const {
  using std::chrono::milliseconds;
  const std::lock_guard lock(mutex_);
  AwaitedProcess one;
  if (first_came_) one.awaited = std::chrono::duration_cast<milliseconds>(now - *first_came_);
  for (const auto& [id, question] : questions_) {
    if (question.request.call != ControlCall::join) continue;
    const auto time = std::chrono::duration_cast<milliseconds>(question.deadline - question.asked);
    one.timeout = one.timeout.count() == 0 ? time : std::min(one.timeout, time);
  }
  std::vector<AwaitedProcess> all;
  for (one.rank = 0; one.rank < config_.size; ++one.rank)
    if (!lives_.contains(one.rank) && !gone_.contains(one.rank)) all.push_back(one);
  return all;
}

bool ControlState::has_been_joined() const {
  const std::lock_guard lock(mutex_);
  return first_came_.has_value();
}

void ControlState::excuse(Clock::duration time) {
  const std::lock_guard lock(mutex_);
  for (auto& [rank, member] : members_) member.heard += time;
  for (auto& [rank, life] : lives_) life.heard += time;
  if (first_came_) *first_came_ += time;
}

}  // namespace nyala::detail
