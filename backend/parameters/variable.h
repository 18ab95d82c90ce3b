#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// When the copies of a variable are brought together (tf.distribute's names). `automatic`: on_write.
enum class Synchronization { automatic, none, on_write, on_read };

/// How values from several replicas become one.
enum class Aggregation { none, sum, mean, only_first_replica };

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
};

/// Returns an arena segment when its variable dies.
class SegmentOwner {
 public:
  virtual ~SegmentOwner() = default;
  virtual void release(DType dtype, const Segment& segment, int32_t leaf) noexcept = 0;
};

/// What a Variable handle shares. `copies[r]` is replica r's value; copies may share their bytes.
struct VariableNode {
  VariableSpec spec;
  std::vector<Tensor> copies;
  bool in_arena = false;
  Segment segment;
  int32_t leaf = 0;  // key on tapes, unique within the store
  bool trainable = true;
  std::weak_ptr<SegmentOwner> owner;
  ~VariableNode() {
    if (auto store = owner.lock()) store->release(spec.dtype, segment, leaf);
  }
};

/// A named value that outlives steps: a weight or a piece of state. A handle; copies name the same variable.
/// Outside a step `value()` is the logical value; inside, layers read it through Call.
class Variable {
 public:
  Variable() = default;
  explicit Variable(std::shared_ptr<VariableNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  const std::string& name() const { return node_->spec.name; }
  /// "dense_1/kernel".
  const std::string& path() const { return node_->spec.path; }
  const Shape& shape() const { return node_->spec.shape; }
  DType dtype() const { return node_->spec.dtype; }
  bool trainable() const { return node_->trainable; }
  void set_trainable(bool trainable) { node_->trainable = trainable; }
  Synchronization synchronization() const { return node_->spec.synchronization; }
  Aggregation aggregation() const { return node_->spec.aggregation; }

  size_t num_copies() const { return node_->copies.size(); }
  /// Replica r's value. Shares the variable's bytes: clone() it to keep it.
  const Tensor& value(size_t replica = 0) const { return node_->copies[replica]; }
  /// Writes `value` (same shape and dtype, any device) to every copy. Throws ShapeError naming the variable.
  void assign(const Tensor& value) const;

  VariableNode& node() const { return *node_; }
  friend bool operator==(const Variable& a, const Variable& b) { return a.node_ == b.node_; }

 private:
  std::shared_ptr<VariableNode> node_;
};

using Variables = std::vector<Variable>;

/// Makes variables: the strategy whose scope is open, or the default one.
class VariableCreator {
 public:
  virtual ~VariableCreator() = default;
  virtual Variable create(const VariableSpec& spec) = 0;
};

}  // namespace nyala
