#pragma once

#include <initializer_list>
#include <string_view>

#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/ops/base/uniform_rows.h>
#include <nyala/backend/ops/nn/dropout.h>
#include <nyala/backend/ops/random/noise.h>

namespace nyala {

namespace detail {

/// The key that a layer draws by: of its seed, or one of its own for a seed below 0. `kind` keeps layers of
/// two classes with one seed apart.
uint64_t seeded_key(int64_t seed, std::string_view kind);
/// The step that a call draws for, 0 where there is none; on x's device.
Tensor drawing_step(const Call& c, const Tensor& x);

}  // namespace detail

/// The base of layers that draw random numbers, also of one's own:
///
///   struct Jitter : SeededNode {
///     Jitter() : SeededNode(-1, "jitter") {}
///     std::string class_name() const override { return "Jitter"; }
///     Tensor call(Call& c, const Tensor& x) const override { return x + noise(c, x, 0.0, 0.1); }
///   };
///
/// The numbers belong to the seed (below 0: one that set_random_seed decides), to the step in training and to
/// the pass out of it, to the number of the draw in the pass, and to the place in the global batch: any
/// number of replicas draws the same. A pass is one batch of predict or evaluate, or one call of a model or
/// layer by itself; the node that was called counts them from 1, so that the same calls of a new model with
/// the same seed draw the same numbers again. A layer that draws in training only asks c.training(). Nothing
/// is drawn from a generator in the node: it is constant and serves all replicas at once.
class SeededNode : public LayerNode {
 public:
  uint64_t* random_key() override { return &key_; }

 protected:
  /// See seeded_key().
  SeededNode(int64_t seed, std::string_view kind);

  /// x / (1 - rate) with elements 0 at chance `rate`, which share a draw along the axes whose bit is set.
  Tensor dropped(Call& c, const Tensor& x, double rate, uint32_t noise_axes = 0) const;
  /// Normal numbers in the shape of x.
  Tensor noise(Call& c, const Tensor& x, double mean, double stddev) const;
  /// Uniform numbers (rows, number of ranges), for each row of x.
  Tensor uniform_for_each(Call& c, const Tensor& x, std::initializer_list<ops::UniformRange> ranges) const;
  /// The same for the batch as a whole: one row, equal on all replicas.
  Tensor uniform_for_all(Call& c, const Tensor& x, std::initializer_list<ops::UniformRange> ranges) const;
  /// Logarithms of gamma numbers (rows, count) with the shape parameter `alpha`, a float32 scalar, for each
  /// row of x; see ops::log_gamma_rows().
  Tensor log_gamma_for_each(Call& c, const Tensor& x, const Tensor& alpha, int64_t count) const;
  /// The same for the batch as a whole: one row, equal on all replicas.
  Tensor log_gamma_for_all(Call& c, const Tensor& x, const Tensor& alpha, int64_t count) const;
  /// The numbers from 0 to count - 1 in an order that is equal on all replicas: (count), int32.
  Tensor permutation_for_all(Call& c, const Tensor& x, int64_t count) const;

 private:
  uint64_t key_;
};

}  // namespace nyala
