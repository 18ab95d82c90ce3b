// Of the control plane: processes that have been started differently find that out at once. Before the first
// generation everybody is told what one of them is refused for, who comes later, too: he would wait in vain.
#include <nyala/strategies/control/control_state.h>

namespace nyala::detail {

/// Why nobody can start together with this one; empty where nothing is known against it. One that was refused
/// and comes again has been started anew.
std::string ControlState::start_refusal(const ControlRequest& request) {
  const auto name = [](const ControlRequest& of) {
    return "rank " + std::to_string(of.rank) + (of.name.empty() ? "" : " on " + of.name);
  };
  if (request.size != config_.size)
    return name(request) + " says that there are " + std::to_string(request.size) +
           " processes, the control plane was told " + std::to_string(config_.size) +
           ". All processes need the same cluster, of as many processes as are started";
  if (generation_ > 0) return "";
  if (refused_.contains(request.rank)) refused_.clear();
  if (!refused_.empty()) return refused_.begin()->second;
  std::map<int, ControlVoice> voices;
  for (const auto& [id, question] : questions_)
    if (question.request.call == ControlCall::join)
      voices[question.request.rank] = {name(question.request), &question.request.facts};
  std::vector<ControlVoice> all;
  for (const auto& [rank, voice] : voices) all.push_back(voice);
  return disagreement(all);
}

bool ControlState::is_refusing() const {
  const std::lock_guard lock(mutex_);
  return !refused_.empty() && refused_.size() < static_cast<size_t>(config_.size);
}

void ControlState::refuse_start(uint64_t id, const std::string& why) {
  if (generation_ > 0) return refuse(id, why);
  for (const auto& [other, question] : questions_)
    if (question.request.call == ControlCall::join) refused_[question.request.rank] = why;
  answer_all([](const ControlRequest& request) { return request.call == ControlCall::join; },
             {.status = ControlStatus::refused, .text = why.substr(0, kMaxControlText)});
}

}  // namespace nyala::detail
