#pragma once

#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/backend/core/check_is_function.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/datasets/base/arrays.h>
#include <nyala/datasets/base/dataset_iterator.h>
#include <nyala/datasets/base/dataset_node.h>
#include <nyala/datasets/base/dataset_options.h>
#include <nyala/datasets/base/element.h>

namespace nyala {

class Dataset;

/// Chosen for a number of parallel calls: as many as there are cores.
inline constexpr int kAutotune = -1;

/// Makes one element from one; the generator is keyed by seed, epoch and position of the element, so its
/// numbers do not depend on threads. Called from several threads at once when the map is parallel.
using MapFunction = std::function<Element(Element, DrawStream&)>;
using FilterFunction = std::function<bool(const Element&)>;
using InterleaveFunction = std::function<Dataset(const Element&)>;
/// Fills the element and returns true, or returns false at the end.
using PullFunction = std::function<bool(Element&)>;

struct GeneratorConfig {
  /// The number of elements, where the author knows it.
  int64_t cardinality = kUnknownCardinality;
  /// Whether elements are batches already, where the author says so.
  std::optional<bool> batched = {};
};

struct MapConfig {
  int num_parallel_calls = 0;         // threads, at most 65,536; 0: the consumer's; kAutotune
  std::optional<uint64_t> seed = {};  // of the generator; nothing: from set_random_seed
};

struct ShuffleConfig {
  std::optional<uint64_t> seed = {};  // nothing: from set_random_seed
  bool reshuffle_each_iteration = true;
};

struct BatchConfig {
  bool drop_remainder = false;
};

struct InterleaveConfig {
  int cycle_length = 2;
  int64_t block_length = 1;
};

struct IterationConfig {
  /// Fixes the order of shuffled data together with the seed. Nothing: 0 for the first iteration of this
  /// dataset (all copies of the handle), 1 for the next.
  std::optional<int64_t> epoch = {};
};

/// A pipeline that yields elements, as tf.data's, of at most 1,000 steps one behind the other. A small
/// handle: copies share the pipeline, which never changes; every method returns a new one. Iterating starts
/// from the beginning. Different threads may iterate the same dataset. Elements may share their bytes with
/// the arrays they come from: read them, write to a copy. Functions given to map, filter and interleave count
/// as deterministic. Exceptions of such functions reach the caller of next().
class Dataset {
 public:
  /// An empty handle; using it throws StateError.
  Dataset() = default;
  explicit Dataset(DatasetNodePointer node) : node_(std::move(node)) {}

  /// Elements are the rows of the arrays. Throws ShapeError unless all have as many rows. Arrays on other
  /// devices are copied to the host once; arrays on the host are shared, not copied.
  static Dataset from_tensor_slices(Element arrays);
  static Dataset from_tensor_slices(const Tensor& x) { return from_tensor_slices(Element{.x = {x}}); }
  static Dataset from_tensor_slices(const Tensor& x, const Tensor& y) {
    return from_tensor_slices(Element{.x = {x}, .y = {y}});
  }
  static Dataset from_tensor_slices(const Tensor& x, const Tensor& y, const Tensor& sample_weight) {
    return from_tensor_slices(Element{.x = {x}, .y = {y}, .sample_weight = sample_weight});
  }
  static Dataset from_tensor_slices(const Arrays& arrays) {
    return from_tensor_slices(
        Element{.x = {arrays.x}, .y = arrays.y.defined() ? Tensors{arrays.y} : Tensors()});
  }

  /// `make` is called at the start of every iteration and returns the function that pulls its elements.
  static Dataset from_generator(std::function<PullFunction()> make, const GeneratorConfig& config = {});

  /// Elements side by side: (x, y) or (x, y, sample_weight), each taken from the x of one dataset. Ends with
  /// the shortest. Throws InvalidArgumentError for other than two or three datasets.
  static Dataset zip(const std::vector<Dataset>& datasets);

  /// Applies f, in order also where it runs in parallel. f takes one of: (Element), (Element, DrawStream&),
  /// (Tensor x) leaving the rest alone, (Tensor x, Tensor y); and returns an Element, a Tensor x, or a pair
  /// x, y.
  template <class F>
  Dataset map(F f, const MapConfig& config = {}) const {
    return map_elements(as_map_function(std::move(f)), config);
  }
  /// Keeps the elements for which f is true. f takes one of: (const Element&), (Tensor x), (Tensor x, Tensor
  /// y).
  template <class F>
  Dataset filter(F f) const {
    return filter_elements(as_filter_function(std::move(f)));
  }
  /// Draws each element from a buffer of the next `buffer_size` ones; a buffer as large as the dataset is a
  /// uniform permutation. Order by seed and epoch; reshuffled in each iteration by default.
  Dataset shuffle(int64_t buffer_size, const ShuffleConfig& config = {}) const;
  /// Stacks `batch_size` elements; the last batch may be smaller, or is dropped.
  Dataset batch(int64_t batch_size, const BatchConfig& config = {}) const;
  /// Iterates `count` times; -1: without end. Shuffled data comes in another order each time.
  Dataset repeat(int64_t count = -1) const;
  /// Keeps up to `buffer_size` elements ready, made in a thread of their own; kAutotune: 2.
  Dataset prefetch(int64_t buffer_size = kAutotune) const;
  /// Keeps the elements of the first complete iteration in memory; all iterations then yield those.
  Dataset cache() const;
  /// The first `count` elements; -1: all.
  Dataset take(int64_t count) const;
  /// All but the first `count` elements; -1: passes over all.
  Dataset skip(int64_t count) const;
  /// The elements index, index + num_shards, ... Throws InvalidArgumentError for an index outside
  /// 0..num_shards-1. shard(kShardHint, kShardHint) gives all, but under AutoShardPolicy::hint.
  Dataset shard(int64_t num_shards, int64_t index) const;
  /// The datasets that f makes of the elements, `cycle_length` of them in turn, `block_length` elements of
  /// each.
  Dataset interleave(InterleaveFunction f, const InterleaveConfig& config = {}) const;

  /// The same elements; what strategies of several processes do with them follows the options, which hold for
  /// everything made of this dataset. `dataset.with_options({{AutoShardPolicy::off}})`.
  Dataset with_options(const DatasetOptions& options) const;
  DatasetOptions options() const;

  /// Number of elements, kInfiniteCardinality or kUnknownCardinality.
  int64_t cardinality() const;
  /// True when an iteration can be replayed: it depends on the pipeline and the epoch alone. False behind a
  /// generator.
  bool is_index_based() const;
  /// Whether elements are batches; nothing when that cannot be known (a generator that did not say).
  std::optional<bool> is_batched() const;

  DatasetIterator iterate(const IterationConfig& config = {}) const;
  /// for (const Batch& batch : dataset)
  DatasetIterator::RangeIterator begin() const { return iterate().begin(); }
  std::default_sentinel_t end() const { return {}; }

  const DatasetNodePointer& node() const { return node_; }

 private:
  Dataset map_elements(MapFunction f, const MapConfig& config) const;
  Dataset filter_elements(FilterFunction f) const;

  template <class F>
  static MapFunction as_map_function(F f);
  template <class F>
  static FilterFunction as_filter_function(F f);

  const DatasetNodePointer& checked() const;

  DatasetNodePointer node_;
};

namespace detail {

/// The only x, and the only y, of an element. Throw InvalidArgumentError saying what the function takes.
const Tensor& only_x(const Element& element);
const Tensor& only_y(const Element& element);

inline Element mapped(Element, Element result) { return result; }
inline Element mapped(Element rest, Tensor x) {
  rest.x = {std::move(x)};
  return rest;
}
inline Element mapped(Element rest, std::pair<Tensor, Tensor> xy) {
  rest.x = {std::move(xy.first)};
  rest.y = {std::move(xy.second)};
  return rest;
}

}  // namespace detail

template <class F>
MapFunction Dataset::as_map_function(F f) {
  detail::check_is_function(f, "Dataset::map");
  if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&>) {
    return [f](Element e, DrawStream&) mutable {
      auto result = f(detail::only_x(e), detail::only_y(e));
      return detail::mapped(std::move(e), std::move(result));
    };
  } else if constexpr (std::is_invocable_v<F&, const Tensor&>) {
    return [f](Element e, DrawStream&) mutable {
      auto result = f(detail::only_x(e));
      return detail::mapped(std::move(e), std::move(result));
    };
  } else if constexpr (std::is_invocable_v<F&, Element, DrawStream&>) {
    return [f](Element e, DrawStream& random) mutable { return detail::mapped({}, f(std::move(e), random)); };
  } else {
    static_assert(std::is_invocable_v<F&, Element>,
                  "map takes a function of (Element), (Element, DrawStream&), (Tensor) or (Tensor, Tensor)");
    return [f](Element e, DrawStream&) mutable { return detail::mapped({}, f(std::move(e))); };
  }
}

template <class F>
FilterFunction Dataset::as_filter_function(F f) {
  detail::check_is_function(f, "Dataset::filter");
  if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&>) {
    return [f](const Element& e) mutable -> bool { return f(detail::only_x(e), detail::only_y(e)); };
  } else if constexpr (std::is_invocable_v<F&, const Element&>) {
    return [f](const Element& e) mutable -> bool { return f(e); };
  } else {
    static_assert(std::is_invocable_v<F&, const Tensor&>,
                  "filter takes a function of (const Element&), (Tensor) or (Tensor, Tensor)");
    return [f](const Element& e) mutable -> bool { return f(detail::only_x(e)); };
  }
}

}  // namespace nyala
