#pragma once

#include <cstdint>

#include <nyala/backend/core/tensor.h>

namespace nyala::ops {

/// Functions with a shape throw ShapeError for a size below 0; inside a layer's call() that is traced it is
/// an unknown one, and the tensor symbolic.

/// Which numbers, of what kind, and where. The same key and shape give the same numbers on every device and
/// with any number of threads: elements are drawn in pairs, each with its own counter (Philox,
/// backend/runtime/random.h).
struct RandomOptions {
  uint64_t key = 0;
  DType dtype = DType::float32;
  Device device = current_device();
};

/// Uniform in [low, high). Integers too, by truncation towards low; then low and high are whole, and
/// InvalidArgumentError is thrown unless low < high and where the dtype does not hold what lies between them.
Tensor random_uniform(const Shape& shape, double low, double high, const RandomOptions& options);
/// Normal (Box-Muller). Floating dtypes.
Tensor random_normal(const Shape& shape, double mean, double stddev, const RandomOptions& options);
/// Normal, drawn again while more than two standard deviations from the mean. Floating dtypes.
Tensor random_truncated_normal(const Shape& shape, double mean, double stddev, const RandomOptions& options);

/// The same with the global generator, which set_random_seed() starts afresh: every call gives other numbers.
/// Inside Strategy::run each replica has a stream of its own, which does not depend on the other replicas.
Tensor random_uniform(const Shape& shape, double low = 0.0, double high = 1.0);
Tensor random_normal(const Shape& shape, double mean = 0.0, double stddev = 1.0);
Tensor random_truncated_normal(const Shape& shape, double mean = 0.0, double stddev = 1.0);

}  // namespace nyala::ops
