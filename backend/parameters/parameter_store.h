#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/parameters/variable.h>

namespace nyala {

class ParameterStore;

namespace detail {

/// The variables of programs that open no scope, on `device`: the same store every time.
std::shared_ptr<ParameterStore> default_store(Device device);

}  // namespace detail

/// Elements of one dtype in chunks that never move. Only the layout: planes hold the bytes.
class ArenaLayout {
 public:
  /// Segments begin on multiples of this many elements, so that vector kernels and cache lines fit.
  static constexpr int64_t kAlignment = 16;

  /// A segment of `count` elements; at least one alignment unit is taken.
  Segment reserve(int64_t count);
  /// The segment with the gap up to its successor.
  static Segment with_gap(const Segment& segment);
  /// The number of the chunk that is given up because nothing is left in it, if it was: a large one. No later
  /// segment lies there, so that what a model too large for the memory leaves behind is in nobody's way.
  std::optional<int32_t> release(const Segment& segment) noexcept;
  const std::vector<int64_t>& chunk_sizes() const { return chunk_sizes_; }

 private:
  std::vector<Segment>::iterator add_free(Segment freed) noexcept;

  size_t segments_ = 0;               // in use
  std::vector<int64_t> chunk_sizes_;  // 0: given up
  std::vector<Segment> free_;  // sorted by chunk and offset, neighbours merged
};

/// Bytes for a layout on one device: weights, gradients or one slot of an optimizer. Grows with the layout.
class Plane {
 public:
  Plane(Device device, DType dtype, double initial = 0.0)
      : device_(device), dtype_(dtype), initial_(initial) {}
  /// The flat tensor of one segment. Its chunk is made where there is none, filled with the initial value.
  Tensor view(const ArenaLayout& layout, const Segment& segment);
  /// Sets a segment to the initial value where its chunk exists already (a chunk that does not will have it).
  void reset(const ArenaLayout& layout, const Segment& segment);
  /// Gives the bytes of a chunk back that the layout has given up.
  void drop(int32_t chunk) noexcept;

 private:
  Device device_;
  DType dtype_;
  double initial_;
  std::vector<Tensor> chunks_;
};

/// The variables of one strategy: per dtype one arena whose weights exist on every replica device (shared
/// among replicas on one kind of memory if asked for) and whose gradients exist per replica. Variables that
/// are not trainable when made lie outside the arenas with a copy per replica.
/// Thread-safe: variables may be made and released while another model of the same strategy trains.
class ParameterStore final : public VariableCreator,
                             public SegmentOwner,
                             public std::enable_shared_from_this<ParameterStore> {
 public:
  static std::shared_ptr<ParameterStore> make(std::vector<Device> replica_devices, bool share_weights);
  /// One set of weights, and of state that is not synchronized on read, on `parameter_device`. Replicas on
  /// devices that share its memory read those bytes; others have copies that fetch() refreshes.
  static std::shared_ptr<ParameterStore> make_central(std::vector<Device> compute_devices,
                                                      Device parameter_device);

  /// Throws InvalidArgumentError for a spec that no variable may have (see Variable). All copies get what
  /// `spec.initialize` makes once.
  Variable create(const VariableSpec& spec) override;

  /// Those of this process; replicas and copies are counted among them.
  int num_local_replicas() const { return static_cast<int>(devices_.size()); }
  Device device(int replica) const { return devices_[static_cast<size_t>(replica)]; }
  /// Whether an update writes one set of weights for all replicas.
  bool shares_weights() const { return share_weights_; }
  /// Sets of weights that an update must write: 1 where shared, else one per replica.
  int num_weight_copies() const { return share_weights_ ? 1 : num_local_replicas(); }
  /// Where weights(copy) lie.
  Device weights_device(int copy) const { return parameter_device_.value_or(device(copy)); }
  /// Set by make_central().
  const std::optional<Device>& parameter_device() const { return parameter_device_; }
  /// The `replica` for gradients() whose bytes take the sum that weights(copy) are updated with: `copy`
  /// itself, or one behind the last replica for a central store.
  int sum_place(int copy) const { return parameter_device_ ? num_local_replicas() : copy; }
  /// Copies weights of this store to the replicas that cannot read the parameter device. Nothing to do
  /// elsewhere.
  void fetch(const Variables& variables);

  /// Called before an update writes weights(): brings copies together that replicas have written alone, and
  /// counts the write.
  void begin_update(const Variables& variables);

  Tensor weights(int copy, DType dtype, const Segment& segment);
  Tensor gradients(int replica, DType dtype, const Segment& segment);
  /// Replica's gradient of one variable, in the variable's shape.
  Tensor gradient(int replica, const Variable& variable);
  /// A copy: other threads may make variables meanwhile.
  ArenaLayout layout(DType dtype) const;

  /// Upper bound of the leaf keys in use.
  int32_t num_leaves() const;

  void release(DType dtype, const Segment& segment, int32_t leaf) noexcept override;

  /// Set before the first variable is made where other processes have replicas, too: from then on create() is
  /// called by all of them, and what rank 0 makes is the first value everywhere.
  void set_processes(std::shared_ptr<ProcessExchange> processes) { processes_ = std::move(processes); }
  /// Set before the first variable is made: is told of each one that has been made, with its first value.
  void set_created(std::function<void(const Variable&)> created) { created_ = std::move(created); }
  ProcessExchange* processes() const override { return processes_.get(); }

  friend std::shared_ptr<ParameterStore> detail::default_store(Device device);

 private:
  ParameterStore(std::vector<Device> devices, bool share_weights, std::optional<Device> parameter_device = {})
      : devices_(std::move(devices)), share_weights_(share_weights), parameter_device_(parameter_device) {}

  struct Arena {
    ArenaLayout layout;
    std::vector<Plane> weights, gradients;
    std::map<int, Plane> fetched;  // by replica: copies of a central store's weights
  };
  /// Whether this replica reads the weights' own bytes.
  bool reads_weights(int replica) const;
  Arena& arena(DType dtype);
  static void clean(Arena& arena, const Segment& segment);
  Tensor view_weights(int copy, DType dtype, const Segment& segment);
  const DistributedVariable* kind_of(const VariableSpec& spec) const;
  void add_arena_copies(VariableNode& node);
  void add_state_copies(VariableNode& node);

  std::vector<Device> devices_;
  bool share_weights_;
  std::optional<Device> parameter_device_;
  bool plain_ = false;
  std::shared_ptr<ProcessExchange> processes_;
  std::function<void(const Variable&)> created_;
  mutable Mutex mutex_;
  std::map<DType, Arena> arenas_;
  int32_t next_leaf_ = 0;
  std::vector<int32_t> free_leaves_;
};

namespace detail {

/// The arena segments of `variables` in arena order, neighbours (up to alignment gaps) merged.
std::vector<Segment> merged_segments(const Variables& variables);

}  // namespace detail

}  // namespace nyala
