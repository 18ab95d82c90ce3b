#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <nyala/backend/autograd/gradient_sink.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/parameters/update_rule.h>
#include <nyala/strategies/replicas/bucket_exchange.h>
#include <nyala/strategies/cross_device/cross_device_ops.h>
#include <nyala/strategies/replicas/step_profiler.h>

namespace nyala {

/// Takes the gradients of all replicas and sums them bucket by bucket, each as soon as every replica's
/// gradients of its variables are final, while backward still runs: the replica that comes last does it by
/// the strategy's cross-device op. A bucket is a contiguous run of the gradient arena.
///
/// The gradient of a variable that a step used once, by ops::take along axis 0 (an Embedding), travels as
/// indices and values where all replicas together name fewer rows than the variable has: from the second step
/// on it is a bucket of its own, and instead of the op each replica's rows are added, in replica order, to
/// zeros in the segments that the update reads. Rows named twice are summed there, before clipping and
/// update, which work on dense segments: the result is the dense one, up to the order of additions. What is
/// saved is a dense gradient per replica and their sum, not the update's pass over all rows. Between
/// processes the sums of each process' rows go to all, and are added in the order of ranks: the bits of the
/// dense sum, but where that is made within hosts first; of a table of 1 MB or more, where they name fewer
/// than half of its rows. Which variables those are the processes agree on in
/// their first step. Steps of gradient accumulation stay dense.
class GradientBuckets {
 public:
  /// `ops` may be null: the choice for the store's devices.
  GradientBuckets(ParameterStore& store, int64_t bucket_elements,
                  std::shared_ptr<const CrossDeviceOps> ops = nullptr);
  ~GradientBuckets();

  /// Where other processes have replicas, too: a finished bucket goes on to them. `processes` is for agreeing
  /// on the buckets whenever they change. Set before the first step.
  void set_exchange(std::shared_ptr<ProcessExchange> processes, std::shared_ptr<Communicator> communicator);

  /// Prepares for one step of `rule`: `reduce` false only gathers; `accumulate` adds to what the arena holds.
  void begin(const UpdateRule& rule, bool reduce, bool accumulate);
  /// Forgets variables and segments until the next begin().
  void disarm() noexcept;
  /// Replica `replica`'s sink for this step.
  GradientSink& sink(int replica);
  /// Replica `replica` has walked back: variables that its tape never saw get zeros.
  void finish(int replica);

  /// Waits until the buckets of this step are sums over all processes. Throws the first error.
  void drain();
  /// Ends the step's exchange with other processes, which get `reason`.
  void cancel(const std::string& reason) noexcept;

  /// Called with the bucket's number when it begins to be reduced: for traces.
  std::function<void(int bucket)> on_reduce;
  /// Called when so many rows of a bucket have come from all processes in place of their dense sums.
  std::function<void(int bucket, int64_t rows)> on_rows;
  /// What sums travel in between processes (CommunicationOptions). Not those of tables that may travel as
  /// rows: a step has the same bits whether they do or not.
  DType wire_dtype = DType::float32;
  /// Gradients of smaller tables stay dense between processes.
  int64_t least_table_bytes = int64_t{1} << 20;
  /// Takes gradients that come as rows of variables that the rule does not update: tables that lie elsewhere.
  /// For several replicas at the same time.
  std::function<void(int replica, int32_t leaf, const Tensor& indices, const Tensor& values)> on_remote_rows;
  size_t num_buckets() const { return buckets_.size(); }
  const CrossDeviceOps& ops() const { return *ops_; }
  /// Is charged with the reductions of measured steps. May be null.
  StepProfiler* profiler = nullptr;

 private:
  class Sink;
  /// What one replica reported for a variable whose gradient may come as rows; nothing: it was not used.
  struct Rows {
    Tensor indices, values;
    bool dense = false;  // it is in the replica's segment
  };
  struct Bucket {
    std::vector<Tensor> gradients;  // one flat view per replica
    Tensor sum;                     // where a central store wants it; undefined elsewhere
    Shape rows_shape;               // of the one variable whose gradients may come as rows
    std::vector<Rows> rows;         // then one per replica; else none
    bool sends_rows = false;        // to other processes: `rows` are those of all replicas here
    int variables = 0;
    std::atomic<int> missing{0};  // reports of (variable, replica) still to come
  };
  struct Place {
    int bucket = -1;  // -1: not a variable of the rule
    std::vector<Tensor> gradients;
  };

  void arm(const UpdateRule& rule);
  /// Whether the buckets are those of the rule's variables, where these lie now.
  bool is_armed_for(const UpdateRule& rule) const;
  void add_buckets(const Variables& variables);
  const Place* place_of(int32_t leaf) const;
  /// One report of `replica` for a bucket; the last one reduces it.
  void count(int bucket, int replica);
  void reduce(Bucket& bucket) const;
  void reduce_dense(const Bucket& bucket) const;
  void reduce_rows(const Bucket& bucket) const;
  /// Of all processes, by the thread of the exchange.
  void exchange(size_t bucket, Communicator& others);
  bool exchange_rows(size_t bucket, Communicator& others);
  void learn_together(Communicator& others);
  bool learns_from_others();
  void make_dense(Bucket& bucket) const;
  /// Whether gradients of this step may come as rows.
  bool takes_rows() const {
    return reduce_ && !accumulate_ && (exchange_ || store_.num_local_replicas() > 1);
  }
  /// Whether the rows of all replicas, `named` of them, are less work than the dense gradient of `table`.
  bool pays(int64_t named, const Tensor& table) const;
  /// Of all processes.
  int num_replicas() const;
  /// Throws CommunicationError where processes have other buckets, or other weights to begin with.
  void agree_on_buckets();
  const Tensor& sum_of(size_t bucket) const;
  void spread(size_t bucket) const;
  void learn_rows(int32_t leaf);

  ParameterStore& store_;
  int64_t bucket_elements_;
  std::shared_ptr<const CrossDeviceOps> ops_;
  /// A variable of the rule where it was then: one that moved to another store and back has another place.
  struct Armed {
    Tensor weights;
    int32_t leaf = 0;
  };
  Variables armed_;
  std::vector<Armed> armed_places_;
  std::deque<Bucket> buckets_;
  std::vector<Place> places_;  // by leaf
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::shared_ptr<ProcessExchange> processes_;  // null: there are none
  std::unique_ptr<BucketExchange> exchange_;
  std::set<uint64_t> agreed_;  // what processes have agreed on
  bool reduce_ = true, accumulate_ = false;
  Mutex rows_mutex_;
  std::set<int32_t> row_leaves_;  // whose gradients have come as rows
  bool learned_ = false;          // some of them have no bucket of their own yet
  // Of several processes: rows that have come here in a step of which the others may know nothing.
  std::set<int32_t> seen_leaves_, known_leaves_;  // the second of earlier generations
  uint64_t trained_ = 0;           // the variables that it is armed for, the same number everywhere
  std::set<uint64_t> told_;        // of these all know what some knew before
  std::map<uint64_t, int> asked_;  // how often the processes asked each other for them
  bool asks_ = false;              // they do in the next step that sums
};

}  // namespace nyala
