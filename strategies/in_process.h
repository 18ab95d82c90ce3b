#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <nyala/strategies/gradient_buckets.h>
#include <nyala/strategies/replica_group.h>
#include <nyala/strategies/replica_threads.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

struct InProcessOptions {
  std::string name;
  std::vector<Device> devices;
  bool share_weights = true;
  int64_t bucket_elements = 65536;
};

/// Synchronous replicas in this process, one thread each. One replica is the plain case. Steps of different
/// models may come from different threads: they take turns.
class InProcessStrategy final : public StrategyNode {
 public:
  /// Throws DeviceNotFoundError.
  explicit InProcessStrategy(InProcessOptions options);

  std::string name() const override { return options_.name; }
  int num_replicas_in_sync() const override { return static_cast<int>(options_.devices.size()); }
  std::string describe() const override;
  ParameterStore& store() override { return *store_; }
  void run(const std::function<void(Replica&)>& fn, UpdateRule* rule) override;
  void update(UpdateRule& rule) override;

  GradientBuckets& buckets() { return buckets_; }

 private:
  /// What one run() with a rule left for update().
  struct Pending {
    const UpdateRule* rule;
    bool apply;
  };
  class Turn;

  bool runs_on_this_thread() const;
  void run_alone(const std::function<void(Replica&)>& fn);
  void fail(int id);
  bool take_pending(const UpdateRule& rule);
  void apply(UpdateRule& rule);
  void in_slices(const std::function<void(int)>& body);
  void run_replica(int id, const std::function<void(Replica&)>& fn, bool has_rule);

  InProcessOptions options_;
  std::shared_ptr<ParameterStore> store_;
  ReplicaGroup group_;
  GradientBuckets buckets_;
  std::vector<std::unique_ptr<Tape>> tapes_;
  std::mutex error_mutex_;
  std::exception_ptr first_error_;
  std::vector<Pending> pending_;
  std::mutex turn_;
  std::atomic<std::thread::id> runner_{};
  ReplicaThreads threads_;
};

}  // namespace nyala
