#include <nyala/backend/ops/random.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/backend/runtime/random.h>

namespace nyala::ops {

namespace {

/// The four words of draw `attempt` for element `i`.
std::array<uint32_t, 4> words_of(int64_t i, uint32_t attempt, uint64_t key) {
  const uint64_t index = static_cast<uint64_t>(i);
  return philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), attempt, 0}, key);
}

double normal_of(const std::array<uint32_t, 4>& words) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform_double(words[0], words[1])));
  return radius * std::cos(2.0 * std::numbers::pi * uniform_double(words[2], words[3]));
}

/// Element i is draw(i), computed on the host.
template <class Draw>
Tensor drawn(const Shape& shape, const RandomOptions& options, Draw&& draw) {
  constexpr int64_t kGrain = 4096;
  const Tensor out = Tensor::empty(shape, options.dtype, options.device);
  const int64_t count = out.num_elements();
  dispatch_any(options.dtype, [&]<class T>(T) {
    const std::unique_ptr<T[]> values(new T[static_cast<size_t>(count)]);
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
          values[static_cast<size_t>(i)] = T(static_cast<float>(draw(i)));
        else values[static_cast<size_t>(i)] = static_cast<T>(draw(i));
      }
    });
    out.copy_from_host(values.get());
  });
  return out;
}

void check_floating(DType dtype, std::string_view where) {
  if (!is_floating(dtype))
    throw DTypeError(std::string(where) + ": expected a floating dtype, received " + std::string(name_of(dtype)));
}

}  // namespace

Tensor random_uniform(const Shape& shape, double low, double high, const RandomOptions& options) {
  const bool whole = !is_floating(options.dtype);
  // Rounding to a narrow dtype could give `high` itself.
  const double limit = options.dtype == DType::float32 ? std::nextafter(static_cast<float>(high), -INFINITY) : high;
  return drawn(shape, options, [&](int64_t i) {
    const auto words = words_of(i, 0, options.key);
    const double value = low + (high - low) * uniform_double(words[0], words[1]);
    return whole ? std::floor(value) : high > low && value > limit ? limit : value;
  });
}

Tensor random_normal(const Shape& shape, double mean, double stddev, const RandomOptions& options) {
  check_floating(options.dtype, "random_normal");
  return drawn(shape, options,
               [&](int64_t i) { return mean + stddev * normal_of(words_of(i, 0, options.key)); });
}

Tensor random_truncated_normal(const Shape& shape, double mean, double stddev, const RandomOptions& options) {
  check_floating(options.dtype, "random_truncated_normal");
  return drawn(shape, options, [&](int64_t i) {
    for (uint32_t attempt = 0;; ++attempt)
      if (const double value = normal_of(words_of(i, attempt, options.key)); std::abs(value) <= 2.0)
        return mean + stddev * value;
  });
}

}  // namespace nyala::ops
