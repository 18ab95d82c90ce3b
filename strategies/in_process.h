#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nyala/backend/core/caught_error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/strategies/communicators/process_communicators.h>
#include <nyala/strategies/replicas/gradient_buckets.h>
#include <nyala/strategies/process_generations.h>
#include <nyala/strategies/replicas/replica_group.h>
#include <nyala/strategies/replicas/replica_threads.h>
#include <nyala/strategies/store_registration.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

struct InProcessOptions {
  std::string name;
  std::vector<Device> devices;
  bool share_weights = true;
  int64_t bucket_elements = 65536;
  DType wire_dtype = DType::float32;                                 // CommunicationOptions'
  std::shared_ptr<const CrossDeviceOps> cross_device_ops = nullptr;  // null: chosen for the devices
  std::vector<double> device_weights = {};                           // one per device, or none: equal
  /// Set: the only copy of the weights lies here.
  std::optional<Device> parameter_device = {};
  /// Where variables are made; null: a store of its own.
  std::shared_ptr<ParameterStore> store = nullptr;
  /// For programs that open no scope.
  bool is_default = false;
  /// Which of all replicas those on `devices` are, where other processes have some, too.
  ReplicaIds ids = {};
  /// What reaches them; says the ids. None: nothing does.
  ProcessCommunicators processes = {};
  /// In their place: who gives those of one generation after another.
  std::shared_ptr<ProcessGroup> group = nullptr;
  /// Set: the variables lie on servers, which apply what rules are to apply here.
  std::shared_ptr<detail::ParameterServerJob> parameter_servers = nullptr;
};

/// Synchronous replicas in this process, one thread each. One replica is the plain case. Steps of different
/// models may come from different threads: they take turns.
class InProcessStrategy final : public StrategyNode {
 public:
  /// Throws DeviceNotFoundError.
  explicit InProcessStrategy(InProcessOptions options);
  ~InProcessStrategy() override;

  std::string name() const override { return options_.name; }
  int num_replicas_in_sync() const override { return group_.num_replicas(); }
  int num_local_replicas() const override { return group_.size(); }
  ProcessExchange* processes() override { return pieces_ ? pieces_.get() : processes_.get(); }
  /// Those of MultiWorkerMirroredStrategy; null: there are none.
  ProcessLink* link() { return processes_.get(); }
  ProcessGenerations* generations() override { return generations_.get(); }
  std::shared_ptr<void> meet_in_loop() override;
  void end_pass() override;
  detail::ParameterServerJob* parameter_server_job() override { return options_.parameter_servers.get(); }
  std::string describe() const override;
  ParameterStore& store() override { return *store_; }
  RowRange rows_of(int replica_id, int64_t global_rows) const override;
  void run(const std::function<void(Replica&)>& fn, UpdateRule* rule) override;
  void update(UpdateRule& rule) override;
  void apply_gradients(const GradientUpdate& update) override;
  bool is_default() const override { return options_.is_default; }
  const CrossDeviceOps& cross_device_ops() const override { return buckets_.ops(); }

  GradientBuckets& buckets() { return buckets_; }

 protected:
  int first_replica() const override { return group_.first_replica(); }

 private:
  /// What one run() with a rule left for update().
  struct Pending {
    const UpdateRule* rule;
    bool apply;
  };
  /// Whose gradients lie in a variable's place, and whether another one has written there since.
  struct Gathered {
    const void* owner = nullptr;
    bool is_lost = false;
  };
  /// The right to use the replicas' threads, tapes and gradients.
  class Turn {
   public:
    explicit Turn(InProcessStrategy& strategy);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    InProcessStrategy& strategy_;
    std::unique_lock<Mutex> lock_;
  };

  void follow(const ProcessCommunicators& processes);
  void take_part(std::shared_ptr<ProcessExchange> pieces);
  /// What is applied in the place of `rule`: itself, unless servers apply it.
  UpdateRule& acting(UpdateRule& rule);
  bool runs_on_this_thread() const;
  void run_alone(const std::function<void(Replica&)>& fn);
  void fail(int local_index) noexcept;
  void drain() noexcept;
  bool take_pending(const UpdateRule& rule);
  /// How slices of an update run at the same time.
  using InSlices = std::function<void(const std::function<void(int)>&)>;
  void apply(UpdateRule& rule, const InSlices& in_slices);
  void apply_together(const Replica& replica, const GradientUpdate& update);
  void apply_alone(const GradientUpdate& update);
  void begin_manual(UpdateRule& rule, const void* owner);
  /// Called before a step of `owner` (an optimizer) writes gradients. Throws StateError where it is to add to
  /// what it gathered, and another one has written there since.
  void claim_gradients(const UpdateRule& rule, const void* owner, bool applies, bool accumulates);
  void feed(int local_index, const GradientUpdate& update);
  void finish_manual(const InSlices& in_slices);
  void in_slices(const std::function<void(int)>& body);
  void run_replica(int local_index, const std::function<void(Replica&)>& fn, bool has_rule);

  InProcessOptions options_;
  std::shared_ptr<ProcessLink> processes_;   // null: there are no others
  std::shared_ptr<ProcessExchange> pieces_;  // of a step that workers train together; null: there are none
  std::unique_ptr<ProcessGenerations> generations_;  // null: there is one
  std::shared_ptr<ParameterStore> store_;
  ReplicaGroup group_;
  GradientBuckets buckets_;
  std::vector<std::unique_ptr<Tape>> tapes_;
  CaughtError first_error_;
  std::vector<Pending> pending_;
  /// Between steps that only gather. A variable that is gone is none that is made where it lay.
  std::map<std::weak_ptr<const TapeSource>, Gathered, std::owner_less<>> gathered_;
  UpdateRule* manual_ = nullptr;  // of the apply_gradients() that goes on
  bool manual_applies_ = false;
  bool run_has_rule_ = false;
  Mutex turn_;
  std::atomic<std::thread::id> runner_{};
  std::atomic<int> runs_ = 0;  // that go on
  ReplicaThreads threads_;
  StoreRegistration registration_;
};

}  // namespace nyala
