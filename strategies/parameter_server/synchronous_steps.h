#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <nyala/strategies/parameter_server/step_piece.h>

namespace nyala::detail {

/// Hands out the pieces of one synchronous step after another: as many as workers take part, less those that
/// are spare. A spare worker gets a piece that another one has already, of the slowest first; whoever is done
/// first counts, since both compute the same. A worker that is lost gives its pieces back.
///
/// A state machine without clock, input or output; one thread at a time.
class SynchronousSteps {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit SynchronousSteps(int backup_workers) : backups_(backup_workers) {}

  /// From the next attempt on the worker takes part.
  void join(uint64_t worker) { workers_.insert(worker); }
  /// It is gone, or is taken for it until it joins again. Whether it had a piece.
  bool leave(uint64_t worker);
  void forget_workers() { workers_.clear(); }
  /// Workers that have had a piece for `lease` or longer leave. What they are done with later still counts.
  void expire(TimePoint now, std::chrono::steady_clock::duration lease);

  void begin(uint64_t id);
  /// The same step with the workers of now: what was done of it is forgotten. Of no effect when all is done.
  void begin_again();
  /// Nothing is handed out until the next one begins.
  void end() { is_on_ = false; }

  /// What a worker that asks is to do now, if anything.
  std::optional<StepPiece> next(uint64_t worker, TimePoint now);
  /// With what the piece came to. Whether it counts: the first of the attempt that goes on.
  bool done(uint64_t worker, const StepPiece& piece, const std::vector<double>& values, TimePoint now);

  /// The worker cannot compute its piece in this attempt: others have changed the values. Where nobody else
  /// has it either the step is begun again.
  void behind(uint64_t worker, const StepPiece& piece);

  bool is_on() const { return is_on_; }
  /// All pieces are done.
  bool is_complete() const;
  bool is_done(int piece) const { return pieces_[static_cast<size_t>(piece)].is_done; }
  /// A piece is not done, nobody has it any more, and nobody is known to come for it.
  bool has_orphans() const;
  uint64_t id() const { return id_; }
  int64_t attempt() const { return attempt_; }
  /// Of the attempt; 0 as long as nobody has asked for one.
  int pieces() const { return static_cast<int>(pieces_.size()); }
  int num_workers() const { return static_cast<int>(workers_.size()); }
  /// What the pieces came to, in their order.
  std::vector<std::vector<double>> values() const;

 private:
  struct Piece {
    std::map<uint64_t, TimePoint> holders = {};  // since when each worker has it
    bool was_given = false, is_done = false;
    std::vector<double> values = {};
  };

  /// Null for one of another attempt.
  Piece* known(const StepPiece& given);
  StepPiece given(size_t piece, uint64_t worker, TimePoint now);
  std::optional<size_t> piece_for(uint64_t worker) const;
  std::optional<size_t> piece_for_spare(uint64_t worker) const;
  std::chrono::steady_clock::duration expected_from(const Piece& piece) const;

  const int backups_;
  std::set<uint64_t> workers_;
  std::map<uint64_t, std::chrono::steady_clock::duration> took_;  // what a piece took each of them last
  std::map<uint64_t, TimePoint> since_;                           // when each of them got its last one
  std::set<uint64_t> served_;                                     // that were done with one of this attempt
  std::vector<Piece> pieces_;
  uint64_t id_ = 0;
  int64_t attempt_ = 0;
  bool is_on_ = false;
};

}  // namespace nyala::detail
