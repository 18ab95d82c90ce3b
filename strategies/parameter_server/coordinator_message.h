#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/strategies/parameter_server/step_piece.h>

namespace nyala::detail {

/// What a worker asks of the chief.
enum class CoordinatorCall : uint8_t {
  /// Answered at once, with the job (`batch.id`), its random seed (`text`) and whether it is synchronous (a
  /// `sizes` of 1).
  hello,
  watch,   ///< open as long as the worker lives; not answered
  join,    ///< answered when that training begins, or is over already
  next,    ///< answered with a batch, or when the training is over
  meet,    ///< what `piece` brings to meeting `id` of its step or loop, whose name is `text`
  done,    ///< of a batch or of `piece`, with what it came to
  ended,   ///< the data has no batch of that number
  behind,  ///< of `piece`: another worker is further with it, or was before it was lost
  left,    ///< the worker has what the training ended with
  /// Answered with a scheduled function, or when the chief has ended.
  function,
  returned,  ///< of function `id`; the payload is what it returned
  threw,     ///< of function `id`; the payload is the error
  /// Answered when the chief has written file `text` for the `id`-th time between trainings, or trains or
  /// schedules functions instead.
  file,
  fail,  ///< the worker's program failed: `text`
};

/// A batch of an epoch that one worker trains.
struct DispensedBatch {
  uint64_t id = 0;  ///< counts all of the job
  int64_t epoch = 0;
  int64_t batch = 0;
  int64_t step = 0;         ///< the number of the training step, which random numbers are keyed by
  bool pull_first = false;  ///< the values that the worker has are too old for it
  /// Which part of it the worker trains together with others; id 0: all of it, by itself.
  StepPiece piece = {};
};

struct CoordinatorRequest {
  CoordinatorCall call = CoordinatorCall::watch;
  uint64_t worker = 0;    ///< drawn by each process at its start
  uint64_t training = 0;  ///< the number of the fit or evaluate, or kOwnLoop
  uint64_t id = 0;        ///< of the batch; of join how many replicas the worker has
  StepPiece piece = {};
  std::string text = {};  ///< of join what programs have to have in common; of file its path; of fail why
  std::vector<double> values = {};  ///< of done: sums of losses and metrics
};

struct CoordinatorReply {
  enum class Kind : uint8_t {
    begins,
    batch,
    function,  ///< number `batch.id`, whose name is `text`; the payload is its arguments
    brought,   ///< the payload is what all pieces brought to the meeting, of `sizes` bytes
    again,     ///< the step of the meeting is over or begun again
    is_over,
    failed
  };
  Kind kind = Kind::begins;
  DispensedBatch batch = {};
  std::string text = {};  ///< of is_over the result; of failed why
  std::vector<uint64_t> sizes = {};
};

/// In place of a training: loops of the program's own, which all processes run together.
inline constexpr uint64_t kOwnLoop = ~uint64_t{0};

inline constexpr size_t kMaxCoordinatorValues = 1 << 18, kMaxCoordinatorText = 2 << 20;
/// What one piece may bring to a meeting, and what a function may take or return.
inline constexpr uint64_t kMaxBrought = uint64_t{1} << 30;

/// As those of ParameterRequest.
std::string encode(const CoordinatorRequest& request);
std::string encode(const CoordinatorReply& reply);
CoordinatorRequest decode_coordinator_request(std::string_view bytes);
CoordinatorReply decode_coordinator_reply(std::string_view bytes);

}  // namespace nyala::detail
