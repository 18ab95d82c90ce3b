#include <nyala/strategies/parameter_server/synchronous_steps.h>

#include <algorithm>

namespace nyala::detail {

bool SynchronousSteps::leave(uint64_t worker) {
  workers_.erase(worker);
  took_.erase(worker);
  since_.erase(worker);
  bool had_one = false;
  for (Piece& piece : pieces_) had_one = piece.holders.erase(worker) > 0 || had_one;
  return had_one;
}

void SynchronousSteps::expire(TimePoint now, std::chrono::steady_clock::duration lease) {
  std::set<uint64_t> late;
  for (const Piece& piece : pieces_)
    for (const auto& [worker, since] : piece.holders)
      if (now - since >= lease) late.insert(worker);
  for (const uint64_t worker : late) leave(worker);
}

void SynchronousSteps::begin(uint64_t id) {
  id_ = id;
  attempt_ = 0;
  is_on_ = true;
  pieces_.clear();
  served_.clear();
}

void SynchronousSteps::begin_again() {
  if (!is_on_ || is_complete()) return;
  ++attempt_;
  pieces_.clear();
  served_.clear();
}

StepPiece SynchronousSteps::given(size_t piece, uint64_t worker, TimePoint now) {
  if (pieces_[piece].holders.try_emplace(worker, now).second) since_[worker] = now;
  pieces_[piece].was_given = true;
  return {id_, attempt_, static_cast<int>(piece), pieces()};
}

std::optional<StepPiece> SynchronousSteps::next(uint64_t worker, TimePoint now) {
  join(worker);
  if (!is_on_) return std::nullopt;
  if (pieces_.empty()) pieces_.resize(static_cast<size_t>(std::max(1, num_workers() - backups_)));
  const std::optional<size_t> piece = piece_for(worker);
  if (piece) return given(*piece, worker, now);
  const std::optional<size_t> spare = piece_for_spare(worker);
  return spare ? std::optional(given(*spare, worker, now)) : std::nullopt;
}

/// The one that it has, its usual one, or any that nobody has.
std::optional<size_t> SynchronousSteps::piece_for(uint64_t worker) const {
  const auto is_free = [](const Piece& piece) { return !piece.is_done && piece.holders.empty(); };
  for (size_t i = 0; i < pieces_.size(); ++i)
    if (!pieces_[i].is_done && pieces_[i].holders.contains(worker)) return i;
  const auto usual = static_cast<size_t>(std::distance(workers_.begin(), workers_.find(worker)));
  if (usual < pieces_.size() && is_free(pieces_[usual])) return usual;
  const auto free = std::ranges::find_if(pieces_, is_free);
  if (free == pieces_.end()) return std::nullopt;
  return static_cast<size_t>(free - pieces_.begin());
}

/// How long the fastest of its workers takes for a piece; long for one of whom nobody knows.
std::chrono::steady_clock::duration SynchronousSteps::expected_from(const Piece& piece) const {
  auto least = std::chrono::steady_clock::duration::max();
  for (const auto& [worker, since] : piece.holders)
    if (const auto took = took_.find(worker); took != took_.end()) least = std::min(least, took->second);
  return least;
}

/// Who was done with a piece waits for the next step: a second one of this might make it late for that.
std::optional<size_t> SynchronousSteps::piece_for_spare(uint64_t worker) const {
  if (backups_ == 0 || served_.contains(worker)) return std::nullopt;
  std::optional<size_t> best;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].is_done) continue;
    const auto rank = [this](size_t piece) {
      return std::pair(-std::ssize(pieces_[piece].holders), expected_from(pieces_[piece]));
    };
    if (!best || rank(i) > rank(*best)) best = i;
  }
  return best;
}

bool SynchronousSteps::done(uint64_t worker, const StepPiece& given, const std::vector<double>& values,
                            TimePoint now) {
  if (const auto since = since_.find(worker); since != since_.end()) took_[worker] = now - since->second;
  Piece* const piece = known(given);
  if (!piece) return false;
  piece->holders.erase(worker);
  served_.insert(worker);
  if (piece->is_done) return false;
  piece->is_done = true;
  piece->values = values;
  return true;
}

void SynchronousSteps::behind(uint64_t worker, const StepPiece& given) {
  Piece* const piece = known(given);
  if (!piece) return;
  piece->holders.erase(worker);
  if (!piece->is_done && piece->holders.empty()) begin_again();
}

SynchronousSteps::Piece* SynchronousSteps::known(const StepPiece& given) {
  const bool is_there = is_on_ && given.id == id_ && given.attempt == attempt_ && given.pieces == pieces() &&
                        given.piece >= 0 && given.piece < pieces();
  return is_there ? &pieces_[static_cast<size_t>(given.piece)] : nullptr;
}

bool SynchronousSteps::is_complete() const {
  return is_on_ && !pieces_.empty() && std::ranges::all_of(pieces_, &Piece::is_done);
}

bool SynchronousSteps::has_orphans() const {
  const bool lacks_workers = pieces() > num_workers();
  return is_on_ && std::ranges::any_of(pieces_, [lacks_workers](const Piece& piece) {
           return !piece.is_done && piece.holders.empty() && (piece.was_given || lacks_workers);
         });
}

std::vector<std::vector<double>> SynchronousSteps::values() const {
  std::vector<std::vector<double>> all;
  for (const Piece& piece : pieces_) all.push_back(piece.values);
  return all;
}

}  // namespace nyala::detail
