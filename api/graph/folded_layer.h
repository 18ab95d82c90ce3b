#pragma once

#include <memory>
#include <vector>

#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/core/mutex.h>

namespace nyala {

/// A layer with a kernel together with its neighbours in a graph: the zeros around its input, and behind it a
/// BatchNormalization, the addition of another tensor and an activation, in this order, each there or not.
///
/// The BatchNormalization is folded into a kernel and a bias of this object's own, one set for each replica:
/// kernel * scale and bias * scale + offset, computed in float64 and rounded once more than the weights are.
/// They are made at the first call and again whenever a variable behind them was written; the layers' own
/// variables never change. Thread-safe but for what changes the plan (absorb).
class FoldedLayer {
 public:
  /// `layer` alone, or null where it cannot be folded with anything.
  static std::shared_ptr<FoldedLayer> of(const Layer& layer);
  FoldedLayer(const FoldedLayer& other);

  /// Take over a neighbour. False where that is not possible; nothing has changed then. `rank`: of the
  /// output.
  bool absorb_padding(const Layer& before);
  bool absorb_normalization(const Layer& behind, ops::Activation activation, int rank);
  bool absorb_sum();
  bool absorb_activation(const Layer& behind);

  /// Whether it needs a pass out of training without gradients, or frozen layers.
  bool is_for_inference() const { return map_ || parts_.sum; }
  /// Whether a step of training computes all of its layers as predict does: it trains none of their
  /// variables, and its BatchNormalization is not trainable, or called out of training.
  bool is_frozen(const Call& c) const;

  /// `sum`: what the result is added to, undefined where absorb_sum() was not called; its bytes are reused
  /// where nobody else holds them. Errors name the layer.
  Tensor run(Call& c, const Tensor& x, Tensor sum) const;
  /// Gives the memory of the folded weights back.
  void release() const;

 private:
  /// Where a value came from, and what its writes were numbered when it was read.
  struct Source {
    const Storage* storage;
    size_t offset;
    uint64_t version;  // of the storage, which variables of an arena share
    bool in_arena;
    uint64_t written, last_write;  // of the variable by its name, of the storage by a tensor
    /// Whether nobody has written it since. A step of training, which writes what it trains into the arena,
    /// asks for the writes of this variable alone.
    bool is_unwritten(const Source& now, bool in_step) const;
  };
  struct Weights {
    std::vector<Source> sources;
    Tensor kernel, bias;
  };

  explicit FoldedLayer(const Layer& layer);
  /// Makes these the parts, if the layer takes them.
  bool take(const FusedParts& parts);
  Tensor compute(Call& c, const Tensor& x, Tensor sum) const;
  std::shared_ptr<const Weights> weights(Call& c) const;
  std::vector<Source> sources(const Call& c) const;
  Weights fold(Call& c) const;

  Layer layer_, normalization_;
  const Fusable* fusable_;        // of layer_
  const Fusable* map_ = nullptr;  // of normalization_
  FusedParts parts_;
  Variable kernel_, bias_;  // perhaps no bias
  Variables variables_;     // that the folded weights are made of
  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const Weights>> of_replica_;
};

}  // namespace nyala
