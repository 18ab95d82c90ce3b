#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <nyala/datasets/base/dataset_options.h>
#include <nyala/datasets/base/element.h>

namespace nyala {

/// Cardinalities that are no number, as in tf.data.
inline constexpr int64_t kInfiniteCardinality = -1;
inline constexpr int64_t kUnknownCardinality = -2;

class ShardHint;

/// What one traversal may depend on besides the pipeline itself.
struct Iteration {
  int64_t epoch = 0;
  /// Of a source's elements, which are files then, those at file_shard, file_shard + num_file_shards, ...
  int64_t num_file_shards = 1, file_shard = 0;
  /// Where the stream of shard(kShardHint, kShardHint) leaves itself; null: it is not asked for.
  std::shared_ptr<ShardHint*> hint = {};
};

/// By what a batch finds out how many elements it will have before it takes some of them.
class ShardHint {
 public:
  virtual ~ShardHint() = default;
  /// How many of the first `wanted` elements of the traversal there are.
  virtual int64_t available(int64_t wanted) = 0;
};

/// One traversal in progress: a puller of items. One thread at a time. After next() returned false or threw,
/// it returns false.
template <class T>
class ItemStream {
 public:
  virtual ~ItemStream() = default;
  virtual bool next(T& item) = 0;
  /// Passes over `count` items; returns how many there were. Cheap where items are found by position.
  virtual int64_t skip(int64_t count) {
    T item{};
    int64_t skipped = 0;
    while (skipped < count && next(item)) ++skipped;
    return skipped;
  }
};

using ElementStream = ItemStream<Element>;
/// Row numbers of arrays.
using RowStream = ItemStream<int64_t>;

/// A step of a pipeline: immutable (but for caches and the count of traversals) and shared by all handles and
/// traversals. A stream refers to its node, which must live longer. Thread-safe: several traversals may run
/// at once.
class DatasetNode {
 public:
  /// Every call goes down through all steps, and each takes stack.
  static constexpr int kMostSteps = 1000;

  DatasetNode() = default;
  /// A step behind these. Throws InvalidArgumentError where more than kMostSteps would stand one behind the
  /// other.
  explicit DatasetNode(std::span<const std::shared_ptr<const DatasetNode>> inputs);
  virtual ~DatasetNode() = default;

  virtual std::unique_ptr<ElementStream> elements(const Iteration& iteration) const = 0;

  /// The arrays whose rows, in some order, are this node's elements; null for a node that is not so.
  /// Such a node also gives the bare row numbers, from which batch() gathers without a tensor per row.
  virtual const Element* arrays() const { return nullptr; }
  virtual std::unique_ptr<RowStream> rows(const Iteration&) const { return nullptr; }

  /// Number of elements, kInfiniteCardinality or kUnknownCardinality.
  virtual int64_t cardinality() const = 0;

  /// True when a traversal is a function of the pipeline and the epoch, so that it can be replayed.
  virtual bool is_index_based() const = 0;

  /// What with_options() said.
  virtual DatasetOptions options() const { return {}; }

  /// Whether shard(kShardHint, kShardHint) stands below, and its elements are this node's, one for one.
  virtual bool has_shard_hint() const { return false; }

  /// Whether elements have rows; nothing when only the generator's author knows.
  virtual std::optional<bool> is_batched() const = 0;

  /// 0 for the first caller, 1 for the next...
  int64_t next_epoch() const { return epochs_.fetch_add(1, std::memory_order_relaxed); }

 private:
  mutable std::atomic<int64_t> epochs_{0};
  int steps_ = 1;  // the longest way down to a source
};

using DatasetNodePointer = std::shared_ptr<const DatasetNode>;

/// A node with one input, by default as replayable and as batched as that is.
class UnaryNode : public DatasetNode {
 public:
  explicit UnaryNode(DatasetNodePointer input)
      : DatasetNode(std::span(&input, 1)), input_(std::move(input)) {}
  bool is_index_based() const override { return input_->is_index_based(); }
  std::optional<bool> is_batched() const override { return input_->is_batched(); }
  DatasetOptions options() const override { return input_->options(); }

 protected:
  const DatasetNode& input() const { return *input_; }

 private:
  DatasetNodePointer input_;
};

namespace detail {

/// A traversal of `node` as elements or as row numbers.
template <class T>
std::unique_ptr<ItemStream<T>> open_stream(const DatasetNode& node, const Iteration& iteration) {
  if constexpr (std::is_same_v<T, Element>)
    return node.elements(iteration);
  else
    return node.rows(iteration);
}

}  // namespace detail

/// A node that only chooses and orders its input's elements. `Self::select<T>(iteration)` makes the stream
/// for elements and for row numbers alike, so both give the same order.
template <class Self>
class SelectingNode : public UnaryNode {
 public:
  using UnaryNode::UnaryNode;
  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    return static_cast<const Self&>(*this).template select<Element>(iteration);
  }
  const Element* arrays() const override { return input().arrays(); }
  std::unique_ptr<RowStream> rows(const Iteration& iteration) const override {
    return arrays() ? static_cast<const Self&>(*this).template select<int64_t>(iteration) : nullptr;
  }
};

}  // namespace nyala
