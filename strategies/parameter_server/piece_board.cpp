#include <nyala/strategies/parameter_server/piece_board.h>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

std::vector<PieceBoard::Ready> PieceBoard::begin(uint64_t id, int64_t attempt) {
  if (id == id_ && attempt == attempt_) return {};
  id_ = id;
  attempt_ = attempt;
  meetings_.clear();
  std::vector<Ready> ready;
  for (auto& [call, waiting] : waiting_) ready.push_back({std::move(waiting.answer), nullptr});
  waiting_.clear();
  return ready;
}

std::vector<PieceBoard::Ready> PieceBoard::meet(uint64_t call, const StepPiece& piece, uint32_t number,
                                                const std::string& what, Bytes bytes, Answer answer) {
  if (piece.id != id_ || piece.attempt != attempt_) return {{std::move(answer), nullptr}};
  const auto pieces = static_cast<size_t>(piece.pieces), index = static_cast<size_t>(piece.piece);
  Meeting& meeting = meetings_[number];
  if (!meeting.brought) {
    meeting = {.what = what,
               .came = std::vector<bool>(pieces),
               .brought = std::make_shared<std::vector<Bytes>>(pieces),
               .missing = piece.pieces};
  }
  if (meeting.came.size() != pieces || index >= pieces || meeting.what != what)
    throw CommunicationError("a step of several workers: piece " + std::to_string(piece.piece) + " came to " +
                             in_quotes(what) + ", another one to " + in_quotes(meeting.what) +
                             "; all processes run the same program");
  if (!meeting.came[index]) {
    meeting.came[index] = true;
    (*meeting.brought)[index] = std::move(bytes);
    --meeting.missing;
  }
  waiting_[call] = {number, std::move(answer)};
  if (meeting.missing > 0) return {};
  std::vector<Ready> ready;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.number != number) {
      ++it;
      continue;
    }
    ready.push_back({std::move(it->second.answer), meeting.brought});
    it = waiting_.erase(it);
  }
  return ready;
}

std::string PieceBoard::waited_for(int piece) const {
  for (const auto& [call, waiting] : waiting_) {
    const auto meeting = meetings_.find(waiting.number);
    if (meeting != meetings_.end() && !meeting->second.came.at(static_cast<size_t>(piece)))
      return meeting->second.what;
  }
  return {};
}

void PieceBoard::forget(uint64_t call) { waiting_.erase(call); }

}  // namespace nyala::detail
