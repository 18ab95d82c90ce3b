#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <nyala/backend/core/caught_error.h>
#include <nyala/backend/core/fork.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/strategies/communicators/communicator.h>

namespace nyala {

/// Sums the finished buckets of a step among the processes while backward goes on, on one thread of its own.
/// Whatever order they are finished in, they go in the order of their numbers, which is the same everywhere.
class BucketExchange {
 public:
  /// The communicator is for this alone: who else meets in a step, meets in an order of its own.
  explicit BucketExchange(std::shared_ptr<Communicator> communicator);
  ~BucketExchange();
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;

  /// Begins a step of buckets 0 to `count` - 1. `exchange` makes of this process' sum of a bucket that of
  /// all, by the communicator that it is given.
  void begin(size_t count, std::function<void(size_t, Communicator&)> exchange);
  /// This process' sum of a bucket is there. From any thread.
  void ready(size_t bucket);
  /// Waits for all buckets. Throws the first error.
  void finish();
  /// Ends a step that failed, on all ranks.
  void cancel(const std::string& reason) noexcept;

 private:
  void start();
  void stop() noexcept;
  void work();
  void exchange_all();
  /// False: the step was given up.
  bool wait_for(size_t bucket);

  std::shared_ptr<Communicator> communicator_;
  std::function<void(size_t, Communicator&)> exchange_;
  Mutex mutex_;
  Condition changed_;
  // Guarded by mutex_.
  std::vector<bool> ready_;
  bool begun_ = false;     // buckets of a step are still to come
  bool given_up_ = false;  // the step failed
  bool stopping_ = false;
  CaughtError error_;
  uint32_t made_in_ = forks();
  std::vector<std::thread> threads_;  // one, or none yet
};

}  // namespace nyala
