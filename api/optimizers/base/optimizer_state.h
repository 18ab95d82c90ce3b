#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/optimizers/base/update_formula.h>

namespace nyala {

/// One tensor of an optimizer's state that belongs to a variable, as Keras' files order them.
struct StateEntry {
  enum class Kind { average, accumulator, slot, placeholder };
  Kind kind;
  size_t slot;
  Variable variable;
  std::string name;
  Shape shape;
  Segment place;
};

/// Where an optimizer's state lies: slots and averages of its variables, planes over the layout of the arena
/// that the variables lie in, once for each copy of the weights; and in which order files list it.
class OptimizerState {
 public:
  /// `averages`: keeps moving averages; `accumulates`: files hold gathered gradients.
  OptimizerState(const UpdateFormula& formula, bool averages, bool accumulates)
      : formula_(formula), averages_(averages), accumulates_(accumulates) {}

  bool built() const { return store_ != nullptr; }
  ParameterStore& store() const { return *store_; }
  const Variables& variables() const { return variables_; }
  DType dtype() const { return variables_.front().dtype(); }
  int num_copies() const { return static_cast<int>(copies_.size()); }
  std::vector<Plane>& slot_planes(int copy) { return copies_.at(static_cast<size_t>(copy)).slot_planes; }
  /// Null where none are kept.
  Plane* average(int copy);

  /// True where build() with these would change nothing.
  bool lies(const ParameterStore& store, const Variables& variables) const;
  /// Makes room for the state of `variables`; those that it knows keep theirs. If it throws, nothing has
  /// changed.
  void build(ParameterStore& store, const Variables& variables);
  /// Whether a variable lies elsewhere than its state, which is at `place`.
  bool has_moved(const Variable& variable, const Segment& place) const;
  /// Whether variable `i` lies elsewhere than its state, or that in another store than `store`.
  bool has_moved(size_t i, const ParameterStore& store) const {
    return store_.get() != &store || has_moved(variables_[i], places_[i]);
  }

  std::vector<StateEntry> entries() const;
  /// On the host; for entries of every kind but accumulators, which the store holds. Shares the memory where
  /// that lies on the host.
  Tensor shared(const StateEntry& entry) const;
  void write(const StateEntry& entry, const Tensor& value);

 private:
  /// The state that belongs to one set of weights.
  struct Copy {
    std::vector<Plane> slot_planes;
    std::vector<Plane> averages;  // one or none
  };
  using Nodes = std::set<const VariableNode*>;

  bool in_same_arena(const ParameterStore& store, const Variables& variables) const;
  /// Those whose state lies where they lie.
  Nodes unmoved() const;
  std::vector<std::pair<StateEntry, Tensor>> left_behind(const Nodes& kept, const Variables& wanted) const;
  Copy make_copy(int copy) const;
  void reset_segments(int copy, const Nodes& kept);
  void add_slot_entries(std::vector<StateEntry>& entries) const;
  Tensor view_of(const StateEntry& entry, Copy& copy) const;

  const UpdateFormula& formula_;
  bool averages_, accumulates_;
  std::shared_ptr<ParameterStore> store_;
  Variables variables_;
  std::vector<Segment> places_;  // by variable: these move without asking
  mutable std::vector<Copy> copies_;
};

namespace detail {

/// A copy on the host.
Tensor copy_on_host(const Tensor& value);

}  // namespace detail

}  // namespace nyala
