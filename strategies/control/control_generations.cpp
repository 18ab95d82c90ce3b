// Of the control plane: who is taken into a generation, when one begins, and how it ends.
#include <algorithm>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_state.h>

namespace nyala::detail {

std::string disagreement(const std::vector<ControlVoice>& voices) {
  for (const ControlVoice& voice : voices) {
    const ControlFacts &first = *voices.front().facts, &facts = *voice.facts;
    for (size_t i = 0; i < std::max(first.size(), facts.size()); ++i) {
      const bool same = i < first.size() && i < facts.size() && first[i] == facts[i];
      if (same) continue;
      const auto said = [&](const ControlFacts& of, const std::string& name) -> std::string {
        for (const auto& [fact, value] : of)
          if (fact == name) return "has " + in_quotes(value);
        return "does not say it";
      };
      const std::string name = i < first.size() ? first[i].first : facts[i].first;
      return "the processes disagree on " + in_quotes(name) + ": " + voices.front().who + " " +
             said(first, name) + ", " + voice.who + " " + said(facts, name);
    }
  }
  return "";
}

/// One that was killed and started again at once may come before the end of its old connection is seen.
bool ControlState::may_contest(uint64_t id, Clock::time_point now) {
  Question& question = questions_.at(id);
  question.is_contested = now - question.asked < 2 * kCloseGrace;
  return question.is_contested;
}

void ControlState::settle_contested(Clock::time_point now) {
  std::vector<uint64_t> ids;
  for (auto& [id, question] : questions_)
    if (std::exchange(question.is_contested, false)) ids.push_back(id);
  for (const uint64_t id : ids)
    if (questions_.contains(id)) join(id, now);
}

void ControlState::join(uint64_t id, Clock::time_point now) {
  const ControlRequest request = questions_.at(id).request;
  if (const std::string why = start_refusal(request); !why.empty()) return refuse_start(id, why);
  gone_.erase(request.rank);
  for (const auto& [other_id, other] : questions_) {
    const bool same =
        other_id != id && other.request.call == ControlCall::join && other.request.rank == request.rank;
    if (!same) continue;
    if (other.request.process != request.process && may_contest(id, now)) return;
    if (other.request.process != request.process)
      return refuse(id, "two processes say that they are rank " + std::to_string(request.rank) + ", on " +
                            other.request.name + " and on " + request.name);
    answer(other_id, {.status = ControlStatus::refused, .text = "the same process has joined again"});
    break;
  }
  if (ended_ && ended_->status == ControlStatus::over && is_member(request)) return answer(id, *ended_);
  if (!members_.empty()) {  // who differs does not keep the others from going on
    const auto& [rank, first] = *members_.begin();
    const std::string who = rank_text(request.rank, request.name);
    if (const std::string why = disagreement({{name_of(rank), &first.facts}, {who, &request.facts}});
        !why.empty())
      return refuse(id, why);
  }
  const auto member = members_.find(request.rank);
  const bool is_new = member == members_.end();
  if (!ended_ && !is_new &&
      !member->second.has_left) {  // who has left comes with its program's next strategy
    const bool is_same = member->second.process == request.process;
    if (is_same && request.generation < generation_) {  // the answer was lost
      ControlReply reply = membership();
      reply.rank = member->second.rank;
      return answer(id, std::move(reply));
    }
    if (!is_same && member->second.is_watched && may_contest(id, now)) return;
    if (!is_same && member->second.is_watched)
      return refuse(id, "two processes say that they are rank " + std::to_string(request.rank) + ", on " +
                            member->second.host + " and on " + request.name);
    if (is_same)
      end_generation(member->second.rank, ControlStatus::aborted,
                     name_of(request.rank) + " asks for a new generation");
    else
      end_generation(member->second.rank, ControlStatus::lost, name_of(request.rank) + " was started again");
  } else if (has_generation() && is_new) {
    lives_[request.rank] = {.process = request.process, .heard = now};
    if (!takes_newcomers()) return;
    end_generation(-1, ControlStatus::aborted,
                   "a process on " + request.name + " (started as rank " + std::to_string(request.rank) +
                       ") has come, and a new generation begins with it");
  }
  lives_[request.rank] = {.process = request.process, .heard = now};
  if (config_.is_elected) newest_ = std::max(newest_, request.generation);
  if (!first_came_) first_came_ = now;
  form_if_due(now);
  refuse_hopeless();
}

/// All that can come are there, or enough of them have waited for the others long enough.
void ControlState::form_if_due(Clock::time_point now) {
  if (has_generation() && !have_all_left()) return;
  int here = 0;
  Clock::time_point first = now;
  for (const auto& [id, question] : questions_) {
    if (question.request.call != ControlCall::join || question.is_contested) continue;
    ++here;
    first = std::min(first, question.asked);
  }
  const bool are_all = here == expected_size();
  const bool is_enough =
      config_.min_size > 0 && here >= config_.min_size && (are_all || now - first >= config_.rejoin_timeout);
  if (here == config_.size || (is_enough && quorum_lack().empty())) form(now);
}

ControlReply ControlState::membership() const {
  ControlReply reply;
  for (const auto& [started_as, member] : members_)
    reply.members.push_back({member.host, member.address, member.place, started_as, member.process});
  return reply;
}

void ControlState::form(Clock::time_point now) {
  std::map<int, Member> members;
  for (const auto& [id, question] : questions_)
    if (const ControlRequest& request = question.request;
        request.call == ControlCall::join && !question.is_contested)
      members[request.rank] = {.host = request.name,
                               .address = request.value,
                               .place = request.place,
                               .facts = request.facts,
                               .process = request.process,
                               .heard = now};
  std::vector<ControlVoice> voices;
  for (const auto& [rank, member] : members) voices.push_back({rank_text(rank, member.host), &member.facts});
  const auto joins = [](const ControlRequest& request) { return request.call == ControlCall::join; };
  if (const std::string why = disagreement(voices); !why.empty())
    return answer_all(joins, {.status = ControlStatus::refused, .text = why});
  members_ = std::move(members);
  generation_ = std::max(generation_, newest_) + 1;
  refused_.clear();
  ended_.reset();
  keys_.clear();  // of the generation before
  key_bytes_ = 0;
  int next = 0;
  for (auto& [started_as, member] : members_) member.rank = next++;
  ControlReply reply = membership();
  for (const auto& [started_as, member] : members_) {
    reply.rank = member.rank;
    answer_all(
        [&](const ControlRequest& request) { return joins(request) && request.process == member.process; },
        reply);
  }
}

void ControlState::end_generation(int rank, ControlStatus status, const std::string& text) {
  if (ended_) return;  // the first one stays
  ended_ = ControlReply{.status = status, .rank = rank, .text = text.substr(0, kMaxControlText)};
  answer_all(
      [](const ControlRequest& request) {
        return needs_generation(request.call) || request.call == ControlCall::wait;
      },
      *ended_);
}

/// Also of those who wait for the next generation already. What was lost before is not the reason any more.
void ControlState::end_for_good(int rank, const std::string& text) {
  if (ended_ && ended_->status == ControlStatus::over) return;
  ended_.reset();
  end_generation(rank, ControlStatus::over, text);
  answer_all(
      [&](const ControlRequest& request) { return request.call == ControlCall::join && is_member(request); },
      *ended_);
}

}  // namespace nyala::detail
