#pragma once

#include <cstddef>
#include <utility>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// The sample weights of an element: none, one tensor for every output, or one for each output in order, some
/// perhaps empty. `weights[i]` are those of output i, as `y[i]` are its targets; where there is one tensor
/// for all it stands wherever a Tensor is taken: `loss(y, y_pred, batch.sample_weight)`.
class SampleWeights {
 public:
  SampleWeights() = default;
  /// An empty tensor: none.
  SampleWeights(Tensor for_all) : for_all_(std::move(for_all)) {}
  SampleWeights(Tensors per_output) : per_output_(std::move(per_output)) {}

  bool defined() const { return for_all_.defined() || !per_output_.empty(); }
  /// Those of one output; an empty tensor where it has none.
  Tensor operator[](size_t output) const {
    if (per_output_.empty()) return for_all_;
    return output < per_output_.size() ? per_output_[output] : Tensor();
  }
  /// Those of all outputs, an empty tensor for none. Throws StateError where each output has its own.
  operator Tensor() const;

  /// Calls f(tensor) for each tensor there is.
  template <class F>
  void for_each(F&& f) const {
    walk(*this, f);
  }
  template <class F>
  void for_each(F&& f) {
    walk(*this, f);
  }
  /// Becomes f(tensor) of each tensor of `from`.
  template <class F>
  void assign(const SampleWeights& from, F&& f) {
    for_all_ = from.for_all_.defined() ? f(from.for_all_) : Tensor();
    per_output_.resize(from.per_output_.size());
    for (size_t i = 0; i < per_output_.size(); ++i)
      per_output_[i] = from.per_output_[i].defined() ? f(from.per_output_[i]) : Tensor();
  }
  /// Whether both have weights for the same outputs.
  bool is_like(const SampleWeights& other) const;

 private:
  template <class Weights, class F>
  static void walk(Weights& weights, F& f) {
    if (weights.for_all_.defined()) f(weights.for_all_);
    for (auto& tensor : weights.per_output_)
      if (tensor.defined()) f(tensor);
  }

  Tensor for_all_;
  Tensors per_output_;
};

}  // namespace nyala
