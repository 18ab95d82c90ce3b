#pragma once

#include <array>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// Which normal numbers are drawn: they depend on these, on the step number and on each element's place in
/// the *global* batch alone, never on how a batch is split or who computes it.
struct NoiseDescriptor {
  double mean = 0.0;
  double stddev = 1.0;
  uint64_t key = 0;       // of seed, layer and call
  int64_t first_row = 0;  // place of the first row (axis 0) in the global batch
};

/// Normal numbers in the shape and dtype of `like`, which has to be floating; not differentiable. `step` as
/// for dropout().
Tensor noise_like(const Tensor& like, const Tensor& step, const NoiseDescriptor& descriptor);

/// Inputs (like, step); the values of `like` are not read.
extern const OpDef kNoise;

/// A call worked out for its kernels: elements 2 i and 2 i + 1 of the global batch are pair(i), from Philox
/// block i under counter (i, step).
struct NoisePlan {
  uint64_t key = 0, step = 0;
  double mean = 0.0, stddev = 1.0;
  int64_t first = 0;  // the call's first element in the global batch
  explicit NoisePlan(const KernelCall& call);
  std::array<double, 2> pair(int64_t i) const;
  /// Elements [begin, end) of the call.
  template <class T>
  void fill(T* values, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end;) {
      const int64_t element = first + i;
      const std::array<double, 2> both = pair(element / 2);
      if (element % 2 == 0) values[i++] = static_cast<T>(both[0]);
      if (i < end) values[i++] = static_cast<T>(both[1]);
    }
  }
};

}  // namespace nyala::ops
