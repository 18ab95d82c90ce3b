#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nyala/strategies/parameter_server/coordinator_message.h>
#include <nyala/strategies/parameter_server/function_queue.h>
#include <nyala/strategies/parameter_server/loop_meetings.h>
#include <nyala/strategies/parameter_server/parameter_transport.h>
#include <nyala/strategies/parameter_server/piece_board.h>
#include <nyala/strategies/parameter_server/range_dispenser.h>
#include <nyala/strategies/parameter_server/synchronous_steps.h>

namespace nyala::detail {

/// What the chief learns of its workers.
struct CoordinatorEvent {
  enum class Kind { batch_done, step_done, epoch_over, failed, nothing };
  Kind kind = Kind::nothing;
  DispensedBatch batch = {};
  std::vector<double> values = {};                  ///< what the batch came to
  std::vector<std::vector<double>> of_pieces = {};  ///< of step_done: the pieces, in their order
  std::string text = {};                            ///< of failed: who and why
};

struct CoordinatorOptions {
  std::chrono::milliseconds lease = std::chrono::seconds(60);
  uint64_t seed = 0;       ///< of the random numbers of all processes
  int64_t staleness = -1;  ///< at most so many others may take effect while a batch is trained; below 0: any
  bool is_synchronous = false;  ///< workers train pieces of one batch after another together
  int backup_workers = 0;       ///< so many of them may be late in each step
};

/// Hands the batches of a training out to whoever asks, and counts each once. A worker that is gone gives its
/// batch back, one that is silent for `lease`, too. Workers may come and go at any time. With a bound for the
/// staleness nobody gets a batch as long as it could make another one staler than that. In synchronous
/// training all workers get pieces of the same batch. Between trainings it hands out functions that the chief
/// has scheduled.
class Coordinator final : public ParameterService {
 public:
  explicit Coordinator(const CoordinatorOptions& options);
  /// Workers that wait are told that the job is over.
  ~Coordinator() override;

  std::shared_ptr<ParameterReceiver> begin(std::string header) override;

  /// Workers that have come to that training, and that come, take part in it, and are told `greeting`. Who
  /// has other facts (lines "name = value") is refused.
  void begin_training(uint64_t training, const std::string& facts, const std::string& greeting);
  /// `batches` below 0: workers find out. `step`: that of batch 0.
  void begin_epoch(int64_t epoch, int64_t batches, int64_t step);
  /// The next event; `nothing` where there is none in that time.
  CoordinatorEvent wait(std::chrono::milliseconds time);
  /// Nothing more of this epoch is handed out; what is out counts.
  void stop_epoch();

  /// By which servers tell what this chief's processes do from what those of the one before it did.
  uint64_t job() const { return job_; }
  bool is_synchronous() const { return options_.is_synchronous; }
  /// Workers train one after the other: no gradient is stale.
  bool takes_turns() const { return options_.staleness == 0; }
  /// Of synchronous training: the next batch is trained, in pieces. step_done comes when all are done, where
  /// the data has no such batch epoch_over.
  void begin_step(int64_t epoch, int64_t batch, int64_t step);
  /// The same batch once more.
  void begin_step_again();
  /// Whoever takes part in it, or comes to it later, gets `result`.
  void end_training(const std::string& result);
  /// The same with an error, of a training that may not have begun.
  void fail_training(uint64_t training, const std::string& why);
  /// Workers of trainings that are over have what these ended with. One that does not come for it in a lease
  /// is not waited for.
  void wait_until_left();
  /// No training will begin any more: workers that wait are told why.
  void end(const std::string& why);

  /// The chief's part of a meeting of a loop of the program's own: what all processes bring. Throws
  /// CommunicationError where one is lost, failed, comes to something else or not in that time.
  std::vector<std::vector<std::byte>> meet_in_loop(const StepPiece& place, uint64_t number,
                                                   const std::string& what, std::vector<std::byte> own,
                                                   std::chrono::milliseconds timeout);
  /// Whoever waits in such a loop, or comes to it later, is told why it is over.
  void fail_loop(const std::string& why);

  /// The chief has written a file: workers that have come as far may read it.
  void wrote_file(const std::string& path);

  /// What is done until now.
  uint64_t mark() const;
  /// A server has lost what was done since that mark: it is done again. How many batches that are.
  int64_t again_since(uint64_t mark);

  /// Null where so many functions wait that no other one may.
  std::shared_ptr<FunctionOutcome> schedule(const std::string& name,
                                            const std::shared_ptr<const FunctionOutcome::Bytes>& arguments);
  /// True where all functions have ended; false where some have not after that time.
  bool wait_for_functions(std::chrono::milliseconds time);
  /// The queue between two of the functions above.
  void with_functions(const std::function<void(FunctionQueue&)>& look);

  int num_workers() const;
  /// False where some are still there after that time.
  bool wait_until_workers_left(std::chrono::milliseconds time);
  std::string describe() const;

 private:
  class Receiver;
  using Clock = std::chrono::steady_clock;
  using Answer = std::function<void(ParameterAnswer)>;
  struct Waiting {
    CoordinatorRequest request;
    Answer answer;
  };
  struct Seen {
    uint64_t training = 0;
    int64_t epoch = 0;
    uint64_t effects = 0;
  };
  struct Told {
    Answer answer;
    CoordinatorReply reply;
    std::shared_ptr<const std::vector<std::byte>> payload = nullptr;
  };
  using Ready = std::vector<Told>;

  void ask(uint64_t call, const CoordinatorRequest& request, std::vector<std::byte> payload,
           const Answer& answer);
  void forget(uint64_t call);
  std::optional<CoordinatorReply> reply_to(const CoordinatorRequest& request);
  CoordinatorReply welcome(const CoordinatorRequest& request);
  std::optional<CoordinatorReply> batch_for(uint64_t worker);
  std::optional<CoordinatorReply> piece_for(uint64_t worker);
  std::optional<CoordinatorReply> function_for(uint64_t worker);
  void take_outcome(const CoordinatorRequest& request, std::vector<std::byte> payload);
  void meet(uint64_t call, const CoordinatorRequest& request, std::vector<std::byte> bytes, Answer answer);
  void meet_in_loop(uint64_t call, const CoordinatorRequest& request, std::vector<std::byte> bytes,
                    const Answer& answer);
  void take_piece(const CoordinatorRequest& request);
  void fail_where_a_meeting_is_missed();
  void reply_to_waiting(Ready& ready);
  std::vector<PieceBoard::Ready> follow_attempt();
  static void send(const std::vector<PieceBoard::Ready>& ready);
  static void send(const std::vector<LoopMeetings::Ready>& ready);
  bool would_make_stale() const;
  bool chief_has_news() const;
  bool has_old_values(uint64_t worker, int64_t epoch) const;
  void take(const CoordinatorRequest& request);
  void expire();
  /// Answers what can be answered now; called without the lock.
  void answer_waiting();
  static void send(const Ready& ready);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const CoordinatorOptions options_;
  const uint64_t job_;
  RangeDispenser dispenser_;
  uint64_t next_call_ = 0;
  uint64_t training_ = 0;  // that goes on; 0: none yet
  bool is_on_ = false;
  std::string facts_, greeting_;
  int64_t first_step_ = 0;
  bool epoch_is_on_ = false;
  std::map<uint64_t, CoordinatorReply> results_;  // of trainings that are over
  std::map<uint64_t, Waiting> waiting_;           // by call
  std::map<uint64_t, uint64_t> watches_;          // workers by call
  uint64_t came_ = 0;                             // workers, those that were started again once more
  std::set<uint64_t> gone_;                       // workers whose watch has ended
  std::map<uint64_t, uint64_t> in_training_;      // which one a worker has come to and not left
  /// What a worker has, and how many batches had taken effect before.
  struct Given {
    DispensedBatch batch;
    uint64_t effects = 0;
    Clock::time_point since = {};
    bool is_late = false;  // another one may have it now
  };
  std::map<uint64_t, Given> given_;  // by worker
  uint64_t effects_ = 0;             // batches that have taken effect, once more where again
  std::map<uint64_t, Seen> seen_;    // by worker: of which values it knows
  SynchronousSteps steps_{options_.backup_workers};
  PieceBoard board_;
  LoopMeetings loop_;
  FunctionQueue functions_;
  DispensedBatch step_batch_;  // that is trained in pieces
  uint64_t replicas_ = 0;      // of each worker; 0: nobody has said
  int64_t steps_again_ = 0;
  std::deque<CoordinatorEvent> events_;
  bool chief_looks_at_batch_ = false;  // since wait() gave it one that is done
  uint64_t lost_ = 0;
  int64_t again_ = 0;
  std::map<std::string, uint64_t> files_;  // how often each was written between trainings
  std::optional<std::string> ended_;
};

}  // namespace nyala::detail
