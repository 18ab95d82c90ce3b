#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nyala/backend/core/held.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/parameters/cast_cache.h>

namespace nyala {

class DistributedVariable;
class ProcessExchange;
struct VariableWrite;

/// When the copies of a variable are brought together (tf.distribute's names). `automatic`: on_write.
/// `none` is known for its name only: no variable can be made with it.
enum class Synchronization { automatic, none, on_write, on_read };

/// How values from several replicas become one.
enum class Aggregation { none, sum, mean, only_first_replica };

/// Keras' names: "on_write", "only_first_replica".
std::string_view name_of(Synchronization synchronization);
std::string_view name_of(Aggregation aggregation);

/// A run of elements in an arena: chunk, first element, number of elements.
struct Segment {
  int32_t chunk = 0;
  int64_t offset = 0;
  int64_t count = 0;
};

/// What a variable is made from. `initialize` fills a host tensor of the variable's shape and dtype.
struct VariableSpec {
  std::string name;
  std::string path;
  Shape shape;
  DType dtype = DType::float32;
  bool trainable = true;
  Synchronization synchronization = Synchronization::automatic;
  Aggregation aggregation = Aggregation::none;
  std::function<void(const Tensor&)> initialize;
  std::function<Tensor(const Tensor&)> constraint = {};  // what optimizers make of a new value; may be empty
  /// Whether layers that compute in another floating dtype read it in that one.
  bool autocast = true;
};

/// What a user says about a variable, besides its first value.
struct VariableConfig {
  /// Fills a host tensor of `shape` and `dtype`: an Initializer or any function. Not needed with a value.
  std::function<void(const Tensor&)> initializer = {};
  /// With a value: must be the value's shape if given.
  Shape shape = {};
  /// Default: the value's, else float32.
  std::optional<DType> dtype = {};
  /// Default: true, but false with Synchronization::on_read, where true is refused.
  std::optional<bool> trainable = {};
  Aggregation aggregation = Aggregation::none;
  Synchronization synchronization = Synchronization::automatic;
  /// A projection that optimizers apply after each update: a Constraint or any function. Default: none.
  std::function<Tensor(const Tensor&)> constraint = {};
  /// Default: "variable".
  std::string name = {};
  /// Whether layers that compute in another floating dtype than the variable's read it in that one.
  bool autocast = true;
};

/// Takes back what a store gave to a variable.
class SegmentOwner {
 public:
  virtual ~SegmentOwner() = default;
  virtual void release(DType dtype, const Segment& segment, int32_t leaf) noexcept = 0;
  /// What speaks with the other processes that hold the variable; null: there are none.
  virtual ProcessExchange* processes() const { return nullptr; }
};

/// What a Variable handle shares. `copies[r]` is what replica r reads.
struct VariableNode final : TapeSource {
  VariableSpec spec;
  const DistributedVariable* kind = nullptr;  // how reads and writes are brought together
  std::vector<Tensor> copies;
  /// The bytes behind all copies: the copies alias them, or (on other devices) are fetched from them.
  /// Undefined where each copy has bytes of its own.
  Tensor home;
  bool in_arena = false;
  Segment segment;
  int32_t leaf = 0;  // key on tapes, unique within the store
  bool trainable = true;
  bool plain = false;       // made outside of every strategy: one copy, no contexts
  bool loose = false;       // made by a program's Variable(...), and held by no layer
  detail::CastCache casts;  // what Call's autocast reads
  /// A replica has written its copy alone since all copies were written.
  std::atomic<bool> diverged{false};
  std::weak_ptr<SegmentOwner> owner;
  std::string_view path() const override { return spec.path; }
  ~VariableNode() {
    if (auto store = owner.lock()) store->release(spec.dtype, segment, leaf);
  }
};

/// A named value that outlives steps: a weight or a piece of state. A handle; copies name the same variable.
///
/// What reading and writing mean depends on where they happen. Inside Strategy::run every replica works on
/// its own; elsewhere (between steps, in merge_call, in a scope) a call concerns all copies; inside
/// Strategy::update it concerns the one copy that is being updated. The three kinds of variables say what
/// they do in each: mirrored_variable.h, sync_on_read_variable.h, aggregating_variable.h. A variable made
/// outside of every strategy has one copy and none of these rules.
/// Inside a model's call layers read and write through Call instead. A trainable variable that no layer holds
/// is an error there: it would be in no list of weights, neither trained nor saved. One that is meant to stay
/// outside is made with {.trainable = false}.
class Variable {
 public:
  Variable() = default;
  /// A variable of the strategy whose scope is open, else of the current device. Inside Strategy::run every
  /// replica makes it together with the others: there is one variable, with replica 0's value on all.
  /// Throws InvalidArgumentError for Synchronization::none, Aggregation::mean of integers, a trainable
  /// variable that is synchronised on reads, or neither a value nor an initializer.
  explicit Variable(const Tensor& initial_value, const VariableConfig& config = {});
  explicit Variable(double initial_value, const VariableConfig& config = {});
  explicit Variable(std::initializer_list<NestedValues> initial_value, const VariableConfig& config = {});
  explicit Variable(const VariableConfig& config);
  static Variable of(std::shared_ptr<VariableNode> node);

  explicit operator bool() const { return node_ != nullptr; }
  const std::string& name() const { return node().spec.name; }
  /// "dense_1/kernel".
  const std::string& path() const { return node().spec.path; }
  const Shape& shape() const { return node().spec.shape; }
  DType dtype() const { return node().spec.dtype; }
  bool trainable() const { return node().trainable; }
  void set_trainable(bool trainable) { node().trainable = trainable; }
  Synchronization synchronization() const { return node().spec.synchronization; }
  Aggregation aggregation() const { return node().spec.aggregation; }

  /// The value as it reads here; tracked by the recording GradientTape if the variable is trainable. May
  /// share the variable's bytes: clone() it to keep it over the next write. Not to be written to: what is
  /// written in place may reach one of several copies; assign() reaches all.
  Tensor value() const;
  size_t num_copies() const { return node().copies.size(); }
  /// Replica r's copy, untracked. Shares the variable's bytes.
  const Tensor& value(size_t replica) const { return node().copies[replica]; }

  /// Replaces, adds to or subtracts from the value. `value` has the variable's shape and dtype and lies on
  /// any device; a number stands for all elements. Throws ShapeError, and what the variable's kind says;
  /// every error names variable and method.
  void assign(const Tensor& value) const;
  void assign_add(const Tensor& value) const;
  void assign_sub(const Tensor& value) const;
  void assign(double value) const;
  void assign_add(double value) const;
  void assign_sub(double value) const;

  /// Combines slices of axis 0 with `values`: shape indices.shape + shape()[1:], in the order of the indices,
  /// so that one named twice is changed twice. Indices are int32, int64 or uint8. Throws NumericError for one
  /// outside the axis and for a division of integers by zero, having changed nothing.
  void scatter_add(const Tensor& indices, const Tensor& values) const;
  void scatter_sub(const Tensor& indices, const Tensor& values) const;
  void scatter_mul(const Tensor& indices, const Tensor& values) const;
  void scatter_div(const Tensor& indices, const Tensor& values) const;
  void scatter_min(const Tensor& indices, const Tensor& values) const;
  void scatter_max(const Tensor& indices, const Tensor& values) const;
  void scatter_update(const Tensor& indices, const Tensor& values) const;

  /// Throws StateError for an empty handle, as everything but `bool` does.
  VariableNode& node() const { return detail::held(node_, "Variable", kHowMade); }
  friend bool operator==(const Variable& a, const Variable& b) { return a.node_ == b.node_; }

 private:
  static constexpr const char* kHowMade =
      "a layer makes its weights in build(), by Builder::weight; outside of layers write Variable(value)";
  void write(const VariableWrite& write) const;

  std::shared_ptr<VariableNode> node_;
};

using Variables = std::vector<Variable>;

namespace detail {

/// Throws StateError for a trainable variable of a program's own that no layer holds: for reads in a layer's
/// call or a model's step.
void check_held(const VariableNode& node);

}  // namespace detail

/// Makes variables: the strategy whose scope is open, or the default one.
class VariableCreator {
 public:
  virtual ~VariableCreator() = default;
  virtual Variable create(const VariableSpec& spec) = 0;
};

}  // namespace nyala
