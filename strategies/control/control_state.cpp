// Every call is a question that is kept until something answers it: what another one brings, or tick(), which
// is told the time. All work is done under the lock and only collects answers; deliver() gives them outside
// of it, so that an answer may ask again. A generation that has ended answers everything that is asked of it
// by its end.
#include <nyala/strategies/control/control_state.h>

#include <algorithm>
#include <utility>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala::detail {

std::string seconds_text(std::chrono::steady_clock::duration time) {
  return fixed_text(std::chrono::duration<double>(time).count(), 1) + " s";
}

std::string rank_text(int rank, const std::string& host) {
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + host);
}

bool needs_generation(ControlCall call) {
  return call == ControlCall::watch || call == ControlCall::barrier || call == ControlCall::agree ||
         call == ControlCall::abort || call == ControlCall::leave;
}

namespace {

using namespace std::chrono_literals;

constexpr size_t kMostKeyBytes = 256u << 20;
constexpr const char* kClosing = "the control plane is closing";

}  // namespace

bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < b.size(); ++i)
    difference |= static_cast<unsigned char>(b[i]) ^ static_cast<unsigned char>(i < a.size() ? a[i] : 0);
  return difference == 0;
}

uint64_t ControlState::handle(ControlRequest request, Answer answer, Clock::time_point now) {
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    const auto wait = std::chrono::milliseconds(std::min<uint32_t>(request.timeout_ms, 86'400'000));
    questions_.emplace(id, Question{std::move(request), std::move(answer), now + wait, now});
    begin(id, now);
  }
  deliver();
  return id;
}

void ControlState::deliver() {
  std::vector<std::pair<Answer, ControlReply>> answers;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(answers_);
  }
  for (auto& [answer, reply] : answers) answer(std::move(reply));
}

void ControlState::answer(uint64_t id, ControlReply reply) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return;
  const ControlRequest& request = found->second.request;
  if (request.call == ControlCall::watch && is_member(request)) {
    Member& member = members_.at(request.rank);
    member.is_watched = false;
    member.heard = found->second.asked;
  }
  if (const auto life = lives_.find(request.rank);
      request.call == ControlCall::join && life != lives_.end() && life->second.process == request.process)
    life->second.heard = now_;  // who waits for long is not frozen
  reply.generation = request.call == ControlCall::find ? std::max(generation_, newest_) : generation_;
  reply.notices = notices_;
  answers_.emplace_back(std::move(found->second.answer), std::move(reply));
  questions_.erase(found);
}

void ControlState::refuse(uint64_t id, const std::string& why) {
  answer(id, {.status = ControlStatus::refused, .text = why});
}

void ControlState::answer_all(const std::function<bool(const ControlRequest&)>& which,
                              const ControlReply& reply) {
  std::vector<uint64_t> ids;
  for (const auto& [id, question] : questions_)
    if (which(question.request)) ids.push_back(id);
  for (const uint64_t id : ids) answer(id, reply);
}

/// Why a question is not even looked at; empty where it is.
std::string ControlState::refusal(const ControlRequest& request) const {
  if (!config_.token.empty() && !same_secret(request.token, config_.token))
    return "wrong token: all processes need the same NYALA_TOKEN";
  const bool says_another_size = request.call == ControlCall::join && request.size != config_.size;
  if (!says_another_size && (request.rank < 0 || request.rank >= config_.size))
    return "rank " + std::to_string(request.rank) + " is outside of the cluster, which has " +
           std::to_string(config_.size) + " processes";
  return "";
}

std::string ControlState::member_refusal(const ControlRequest& request) const {
  if (!needs_generation(request.call) || is_member(request)) return "";
  return rank_text(request.rank, "") + " has not joined, or another process has joined in its place";
}

ControlReply ControlState::is_over(const ControlRequest& request) const {
  return {.status = ControlStatus::aborted,
          .text = "generation " + std::to_string(request.generation) + " is over, this is " +
                  std::to_string(generation_)};
}

void ControlState::begin(uint64_t id, Clock::time_point now) {
  now_ = now;
  const ControlRequest& request = questions_.at(id).request;
  if (closed_) return answer(id, {.status = ControlStatus::closing, .text = kClosing});
  if (const std::string why = refusal(request); !why.empty()) {
    turned_away_ = why;
    return refuse(id, why);
  }
  if (request.call == ControlCall::find && !request.value.empty()) heard_from_[request.rank] = request.value;
  if (request.call == ControlCall::find || (request.call == ControlCall::join && stands_by_))
    return answer(id, whereabouts());
  note_life(request, now);
  if (const std::string why = member_refusal(request); !why.empty()) return refuse(id, why);
  if (needs_generation(request.call)) {
    if (request.generation != generation_) return answer(id, is_over(request));
    const bool is_last = request.call == ControlCall::abort && request.name == kForGood;
    if (ended_ && !is_last) return answer(id, *ended_);
  }
  switch (request.call) {
    case ControlCall::join:
      return join(id, now);
    case ControlCall::watch:
      return watch(id, now);
    case ControlCall::set:
      return set(id, now);
    case ControlCall::get:
    case ControlCall::wait: {
      const auto found = keys_.find(request.name);
      if (found != keys_.end()) return answer(id, {.found = true, .value = found->second});
      if (request.call == ControlCall::get) return answer(id, {});
      if (request.generation < generation_) return answer(id, is_over(request));
      return ended_ ? answer(id, *ended_) : void();  // who would set it now?
    }
    case ControlCall::barrier:
    case ControlCall::agree:
      return meet(id);
    case ControlCall::abort: {
      const std::string text = name_of(request.rank) + ": " + request.value;
      const int rank = members_.at(request.rank).rank;
      const bool for_good = request.name == kForGood;
      answer(id, {});
      return for_good ? end_for_good(rank, text) : end_generation(rank, ControlStatus::aborted, text);
    }
    case ControlCall::preempt:
      ++notices_;
      last_notice_ = rank_text(request.rank, request.name) + ": " + request.value;
      answer(id, {});
      return answer_all([](const ControlRequest& other) { return other.call == ControlCall::watch; },
                        {.value = last_notice_});
    case ControlCall::leave:
      members_.at(request.rank).has_left = true;
      answer(id, {});
      return admit_newcomers(now);
    case ControlCall::find:
      return;  // answered before
  }
}

/// Ranks that ask the same, sorted.
std::vector<int> ControlState::who_waits(const ControlRequest& like) const {
  std::vector<int> ranks;
  for (const auto& [id, question] : questions_)
    if (question.request.call == like.call &&
        (like.call == ControlCall::join || question.request.name == like.name))
      ranks.push_back(question.request.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void ControlState::watch(uint64_t id, Clock::time_point now) {
  Question& question = questions_.at(id);
  Member& member = members_.at(question.request.rank);
  member.heard = now;
  member.closed_at.reset();
  if (question.request.seen < notices_) return answer(id, {.value = last_notice_});
  member.is_watched = true;
  // Who has a shorter heartbeat than this would take a later answer for none.
  const Clock::duration asked_for = question.deadline - question.asked;
  question.deadline =
      now + (asked_for > 0ms ? std::min<Clock::duration>(asked_for, config_.heartbeat) : config_.heartbeat);
}

void ControlState::set(uint64_t id, Clock::time_point now) {
  const ControlRequest request = questions_.at(id).request;
  std::string& place = keys_[request.name];
  key_bytes_ += request.value.size() + (place.empty() ? request.name.size() + 64 : 0);
  key_bytes_ -= std::min(key_bytes_, place.size());
  if (key_bytes_ > kMostKeyBytes) {
    key_bytes_ -= std::min(key_bytes_, request.value.size());
    return refuse(id, "the keys of this cluster take more than 256 MB");
  }
  place = request.value;
  answer(id, {});
  answer_all(
      [&](const ControlRequest& other) {
        return other.call == ControlCall::wait && other.name == request.name;
      },
      {.found = true, .value = request.value});
  if (request.name == kTakesNewcomers) admit_newcomers(now);
}

void ControlState::meet(uint64_t id) {
  const ControlRequest request = questions_.at(id).request;
  std::vector<ControlVoice> voices;
  int same_rank = 0;
  for (const auto& [other_id, question] : questions_) {
    const ControlRequest& other = question.request;
    if (other.call != request.call || other.name != request.name) continue;
    same_rank += other.rank == request.rank ? 1 : 0;
    voices.push_back({name_of(other.rank), &other.facts});
  }
  if (same_rank > 1)
    return refuse(id, name_of(request.rank) + " waits at " + in_quotes(request.name) + " twice");
  if (voices.size() < members_.size()) return;
  std::sort(voices.begin(), voices.end(), [](const auto& a, const auto& b) { return a.who < b.who; });
  const std::string why = disagreement(voices);
  answer_all(
      [&](const ControlRequest& other) { return other.call == request.call && other.name == request.name; },
      why.empty() ? ControlReply{} : ControlReply{.status = ControlStatus::refused, .text = why});
}

std::string ControlState::name_of(int started_as) const {
  const auto member = members_.find(started_as);
  if (member == members_.end()) return rank_text(started_as, "");
  const bool is_same = member->second.rank == started_as;
  return rank_text(member->second.rank, member->second.host) +
         (is_same ? "" : " (started as rank " + std::to_string(started_as) + ")");
}

bool ControlState::is_member(const ControlRequest& request) const {
  const auto member = members_.find(request.rank);
  return member != members_.end() && member->second.process == request.process;
}

void ControlState::cancel(uint64_t id, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = questions_.find(id);
  if (found == questions_.end()) return;
  const ControlRequest& request = found->second.request;
  if (const auto member = members_.find(request.rank); request.call == ControlCall::watch &&
                                                       member != members_.end() &&
                                                       member->second.process == request.process) {
    member->second.is_watched = false;
    member->second.closed_at = now;
  }
  questions_.erase(found);
}

std::string ControlState::missing_text(const Question& question) const {
  const ControlRequest& request = question.request;
  std::vector<int> here = who_waits(request);
  std::string missing;
  int count = 0;
  const bool is_join = request.call == ControlCall::join;
  for (int rank = 0; rank < config_.size; ++rank) {
    const bool is_expected = is_join || members_.contains(rank);
    if (!is_expected || std::binary_search(here.begin(), here.end(), rank)) continue;
    const auto member = members_.find(rank);
    const bool has_left = member != members_.end() && member->second.has_left;
    if (++count <= 16)
      missing += (missing.empty() ? "" : ", ") + name_of(rank) + (has_left ? " (has left)" : "");
  }
  if (count > 16) missing += " and " + std::to_string(count - 16) + " more";
  if (is_join && has_generation())
    return "the others have begun without this process, and have taken nobody in for " +
           seconds_text(question.deadline - question.asked) + ": that is done in fit, from its first step on";
  const std::string what = is_join ? "the start" : in_quotes(request.name);
  const size_t all = is_join ? static_cast<size_t>(config_.size) : members_.size();
  return what + ": " + std::to_string(count) + " of " + std::to_string(all) + " processes did not come in " +
         seconds_text(question.deadline - question.asked) + ": " + missing +
         (is_join ? size_lack(std::ssize(here)) + quorum_lack() : "") +
         (is_join && !turned_away_.empty() ? ". One that came was turned away: " + turned_away_ : "");
}

/// Why those who wait are too few, whoever else may go on.
std::string ControlState::size_lack(int64_t here) const {
  if (config_.min_size == 0 || here >= config_.min_size) return "";
  return ". min_workers is " + std::to_string(config_.min_size) + ", and " + std::to_string(here) +
         (here == 1 ? " is" : " are") + " here";
}

void ControlState::expire(Clock::time_point now) {
  std::vector<std::pair<uint64_t, ControlReply>> late;
  for (const auto& [id, question] : questions_) {
    if (now < question.deadline) continue;
    const ControlCall call = question.request.call;
    if (call == ControlCall::watch)
      late.emplace_back(id, ControlReply{});
    else if (call == ControlCall::wait)
      late.emplace_back(id, ControlReply{.status = ControlStatus::timeout,
                                         .text = "nobody set the key " + in_quotes(question.request.name) +
                                                 " in " + seconds_text(question.deadline - question.asked)});
    else
      late.emplace_back(id, ControlReply{.status = ControlStatus::timeout, .text = missing_text(question)});
  }
  for (auto& [id, reply] : late) answer(id, std::move(reply));
}

void ControlState::tick(Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    now_ = now;
    for (auto& [rank, member] : members_) {
      if (ended_ || member.has_left || member.is_watched) continue;
      const auto silence = now - member.heard;
      if (member.closed_at && now - *member.closed_at > kCloseGrace)
        end_generation(member.rank, ControlStatus::lost, name_of(rank) + " was lost: its connection closed");
      else if (silence > 3 * config_.heartbeat)
        end_generation(member.rank, ControlStatus::lost,
                       name_of(rank) + " was lost: not heard of for " + seconds_text(silence));
    }
    settle_contested(now);
    expire(now);
    if (config_.min_size > 0) form_if_due(now);
  }
  deliver();
}

bool ControlState::is_needed() const {
  const std::lock_guard lock(mutex_);
  return !stands_by_ && !ended_ && std::any_of(members_.begin(), members_.end(), [](const auto& entry) {
    return !entry.second.has_left;
  });
}

void ControlState::give_up(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    answer_all([](const ControlRequest& request) { return request.call == ControlCall::join; },
               {.status = ControlStatus::timeout, .text = why.substr(0, kMaxControlText)});
  }
  deliver();
}

void ControlState::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    answer_all([](const ControlRequest&) { return true; },
               {.status = ControlStatus::closing, .text = kClosing});
  }
  deliver();
}

}  // namespace nyala::detail
