#include <nyala/strategies/parameter_server/loop_meetings.h>

#include <algorithm>
#include <utility>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

std::string called(int rank) { return rank == 0 ? "the chief" : "worker " + std::to_string(rank - 1); }

}  // namespace

std::vector<LoopMeetings::Ready> LoopMeetings::meet(const Comer& comer, uint64_t number,
                                                    const std::string& what, Bytes bytes, Answer answer) {
  if (!failed_.empty()) return {{std::move(answer), nullptr, failed_}};
  const auto size = static_cast<size_t>(comer.place.pieces), rank = static_cast<size_t>(comer.place.piece);
  waiting_[comer.call] = std::move(answer);
  if (came_.empty()) {
    came_.resize(size);
    brought_ = std::make_shared<std::vector<Bytes>>(size);
    what_ = what;
  }
  const auto known = ranks_.emplace(comer.process, comer.place.piece).first;
  const bool is_taken = std::ranges::any_of(ranks_, [&](const auto& entry) {
    return entry.second == comer.place.piece && entry.first != comer.process;
  });
  if (size != came_.size() || rank >= size || known->second != comer.place.piece || is_taken ||
      number != number_ || came_[rank])
    return fail(called(comer.place.piece) +
                " came to a loop that goes on already; it was started again, and a loop of the program's own "
                "does not go on where a process is lost");
  if (what != what_)
    return fail(called(comer.place.piece) + " came to " + in_quotes(what) + ", another process to " +
                in_quotes(what_) + "; all processes run the same program");
  came_[rank] = true;
  (*brought_)[rank] = std::move(bytes);
  if (!std::ranges::all_of(came_, [](bool came) { return came; })) return {};
  ++number_;
  came_.clear();
  return answer_all(std::exchange(brought_, nullptr));
}

std::vector<LoopMeetings::Ready> LoopMeetings::answer_all(const Brought& brought) {
  std::vector<Ready> ready;
  for (auto& [call, answer] : std::exchange(waiting_, {}))
    ready.push_back({std::move(answer), brought, failed_});
  return ready;
}

std::vector<LoopMeetings::Ready> LoopMeetings::lost(uint64_t process) {
  const auto rank = ranks_.find(process);
  if (rank == ranks_.end()) return {};
  return fail(called(rank->second) + " is gone");
}

std::vector<LoopMeetings::Ready> LoopMeetings::fail(const std::string& why) {
  if (failed_.empty()) failed_ = why;
  return answer_all(nullptr);
}

std::string LoopMeetings::missing() const {
  std::string text;
  for (size_t rank = 0; rank < came_.size(); ++rank)
    if (!came_[rank]) text += (text.empty() ? "" : ", ") + called(static_cast<int>(rank));
  return text;
}

}  // namespace nyala::detail
