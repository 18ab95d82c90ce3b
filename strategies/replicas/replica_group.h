#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/caught_error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/replicas/step_profiler.h>

namespace nyala {

/// "replica 1 on cpu:1: ", for the text of an error; empty where there is no memory for it.
std::string place_of(const char* what, int id, Device device) noexcept;

/// Which of all replicas those of one process are.
struct ReplicaIds {
  int first = 0;
  int all = 0;  // 0: there are no others
};

/// A meeting point of the replicas of one process. Where other processes have replicas, too, what is brought
/// together here goes on to them: the first replica's thread speaks with them, and all go on with the answer.
/// A replica that fails or leaves early breaks it: everybody
/// who waits or comes later gets an error instead of waiting for ever.
class ReplicaGroup {
 public:
  explicit ReplicaGroup(std::vector<Device> devices, ReplicaIds ids = {});
  ~ReplicaGroup();

  /// Those that meet here. They are counted from 0; their ids among all replicas follow each other.
  int size() const { return static_cast<int>(devices_.size()); }
  int num_replicas() const { return ids_.all; }
  int first_replica() const { return ids_.first; }
  Collectives& context(int local_index) const { return *contexts_[static_cast<size_t>(local_index)]; }

  /// What reaches the replicas of other processes. Set before the first step.
  void set_processes(std::shared_ptr<ProcessExchange> processes) { processes_ = std::move(processes); }
  /// Between steps, where other processes came or went.
  void set_ids(ReplicaIds ids) { ids_ = ids; }
  ProcessExchange* processes() const { return processes_.get(); }

  /// Makes the group whole for the next step.
  void reset();
  /// A replica will come to no more meetings of this step.
  void leave(int local_index);
  /// Breaks every meeting of this step.
  void cancel(std::string reason) noexcept;
  bool broken() const { return broken_.load(); }

  /// Waits for all replicas. Throws CommunicationError when the group is broken. `what` is a literal that
  /// names the meeting in errors.
  void meet(int local_index, const char* what = "a collective");

  /// Throws StateError where there are replicas in other processes that nothing reaches.
  void check_complete(const char* what) const;

  /// For the first replica inside the function of a barrier(): calls body(id) on all replicas' threads at the
  /// same time, and returns when all have. Throws the first error.
  void together(const std::function<void(int)>& body);

  /// Is charged with the time that replicas of measured steps wait for each other. May be null.
  StepProfiler* profiler = nullptr;

 private:
  class Context;

  /// What replicas bring to one collective. Two serve in turn: nobody comes to the second meeting after this
  /// one before all have come to the next, and so have looked here. They hold the tensors: a replica that
  /// fails may unwind while others still look.
  struct Table {
    Tensors shown;
    std::vector<const char*> kinds;  // literals; kOnce stands for the name in names_, null for nothing
  };
  /// Lays `value` and `what` on the table of a replica's next collective, meets, and checks that all came to
  /// the same.
  const Table& meet_at_table(int local_index, const char* what, const Tensor& value = {});

  void check_whole() const;
  void check_same_meeting(const Table& table);
  void barrier(int local_index, std::string_view what, const void* contribution,
               const std::function<void(Collectives::Contributions)>& once);
  void wait_for_the_first(int local_index);
  void run_job(int local_index);
  /// What some other replica waits in, "" if none does.
  std::string awaited_from(int local_index) const;
  /// "replica 3", by its id among all.
  std::string replica(int local_index) const;

  std::vector<Device> devices_;
  ReplicaIds ids_;
  std::shared_ptr<ProcessExchange> processes_;  // null: there are none
  Tensors from_all_;                            // what all processes brought to the collective that goes on
  std::vector<std::unique_ptr<Collectives>> contexts_;
  int spins_;
  uint32_t begun_in_ = forks();
  std::atomic<int> arrived_{0};
  std::atomic<int> left_{0};
  std::atomic<int> last_left_{-1};
  static constexpr const char* kOnce = "";
  std::vector<std::atomic<const char*>> waiting_;  // what each replica waits in now, as in Table::kinds
  std::array<Table, 2> tables_;
  std::vector<uint32_t> turns_;             // collectives of this step that each replica has come to
  std::vector<std::string> names_;          // of barrier(); guarded by mutex_
  std::vector<const void*> contributions_;  // of barrier()
  const std::function<void(int)>* job_ = nullptr;
  CaughtError job_error_;
  std::atomic<uint32_t> generation_{0};
  std::atomic<bool> broken_{false};
  mutable Mutex mutex_;
  std::string reason_;
};

}  // namespace nyala
