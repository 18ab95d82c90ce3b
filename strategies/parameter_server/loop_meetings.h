#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nyala/strategies/parameter_server/step_piece.h>

namespace nyala::detail {

/// What the chief and all workers lay down for each other in a loop of the program's own, one meeting after
/// the other: a process comes to the next one when it has what all brought to the one before. One that is
/// lost, or comes to something else, ends the loop for all.
///
/// A state machine without threads, clock, input or output; answers are called by whoever got them.
class LoopMeetings {
 public:
  using Bytes = std::vector<std::byte>;
  /// Of each process, in the order of ranks.
  using Brought = std::shared_ptr<const std::vector<Bytes>>;
  /// Null with why there is nothing.
  using Answer = std::function<void(const Brought&, const std::string& why)>;
  struct Ready {
    Answer answer;
    Brought brought;
    std::string why;
  };
  /// Who comes: `call` names the question, `process` who asks; `place.piece` is the rank, of `place.pieces`.
  struct Comer {
    uint64_t call = 0, process = 0;
    StepPiece place = {};
  };

  std::vector<Ready> meet(const Comer& comer, uint64_t number, const std::string& what, Bytes bytes,
                          Answer answer);
  /// That process is gone; of no effect where it never came.
  std::vector<Ready> lost(uint64_t process);
  /// Nothing works any more. The first reason stays.
  std::vector<Ready> fail(const std::string& why);
  /// Nobody waits for that answer any more.
  void forget(uint64_t call) { waiting_.erase(call); }
  /// Ranks that the others wait for: "1, 3".
  std::string missing() const;

 private:
  std::vector<Ready> answer_all(const Brought& brought);

  std::map<uint64_t, int> ranks_;       // by process
  std::map<uint64_t, Answer> waiting_;  // by call
  std::shared_ptr<std::vector<Bytes>> brought_;
  std::vector<bool> came_;
  uint64_t number_ = 0;
  std::string what_, failed_;
};

}  // namespace nyala::detail
