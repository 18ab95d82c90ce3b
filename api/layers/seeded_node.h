#pragma once

#include <initializer_list>
#include <string_view>

#include <nyala/api/layers/layer.h>
#include <nyala/backend/ops/dropout.h>
#include <nyala/backend/ops/noise.h>
#include <nyala/backend/ops/uniform_rows.h>

namespace nyala {

/// The key that a layer draws by: of its seed, or one of its own for a seed below 0. `kind` keeps layers of
/// two classes with one seed apart.
uint64_t seeded_key(int64_t seed, std::string_view kind);
/// The step that a call draws for, 0 where there is none; on x's device.
Tensor drawing_step(const Call& c, const Tensor& x);

/// A layer that draws random numbers in training, as Dropout does: by its seed (below 0: none), the step, the
/// number of the call and the place in the global batch.
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

 private:
  uint64_t key_;
};

}  // namespace nyala
