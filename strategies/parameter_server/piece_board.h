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

/// What the pieces of a step lay down for each other: collectives of layers, statistics of a whole batch.
/// Several workers may compute one piece; what the first of them brings counts, and each gets what all
/// pieces brought. One thread at a time.
class PieceBoard {
 public:
  using Bytes = std::vector<std::byte>;
  /// Of each piece, in their order; null: that attempt is over.
  using Brought = std::shared_ptr<const std::vector<Bytes>>;
  using Answer = std::function<void(Brought)>;
  struct Ready {
    Answer answer;
    Brought brought;
  };

  /// What is laid down belongs to that attempt from now on. Whoever waits in another one is told that it is
  /// over.
  std::vector<Ready> begin(uint64_t id, int64_t attempt);

  /// What `piece` brings to meeting `number` of its attempt. `call` names the question. Throws
  /// CommunicationError where pieces come to different meetings.
  std::vector<Ready> meet(uint64_t call, const StepPiece& piece, uint32_t number, const std::string& what,
                          Bytes bytes, Answer answer);
  /// Nobody waits for that answer any more.
  void forget(uint64_t call);
  bool has_waiting() const { return !waiting_.empty(); }
  /// What others wait for that piece at; empty: nothing.
  std::string waited_for(int piece) const;

 private:
  struct Meeting {
    std::string what;
    std::vector<bool> came;
    std::shared_ptr<std::vector<Bytes>> brought;
    int missing = 0;
  };
  struct Waiting {
    uint32_t number = 0;
    Answer answer;
  };

  uint64_t id_ = 0;
  int64_t attempt_ = 0;
  std::map<uint32_t, Meeting> meetings_;  // by number
  std::map<uint64_t, Waiting> waiting_;   // by call
};

}  // namespace nyala::detail
