// Counter-based: numbers 2 i and 2 i + 1 come from Philox under counter i, so that any thread can draw any
// element. Normals are Box-Muller, which turns two uniforms into two normals without rejection; cut normals
// are drawn again under the next attempt, which is part of the counter, so that one element's luck does not
// move the others. Not a stream of one generator: its numbers would depend on who draws first.
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/dtype_range.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/random/random.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/backend/runtime/traced_shape.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

/// The four words of draw `attempt` for element `i`.
std::array<uint32_t, 4> words_of(int64_t i, uint32_t attempt, uint64_t key) {
  const uint64_t index = static_cast<uint64_t>(i);
  return philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), attempt, 0}, key);
}

/// Two independent standard normals (Box-Muller).
std::array<double, 2> normals_of(const std::array<uint32_t, 4>& words) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform_double(words[0], words[1])));
  const double angle = 2.0 * std::numbers::pi * uniform_double(words[2], words[3]);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// Elements 2 i and 2 i + 1 are pair(i), computed on the host.
template <class Pair>
Tensor drawn(std::string_view op, const Shape& shape, const RandomOptions& options, Pair&& pair) {
  constexpr int64_t kGrain = 2048;
  if (!shape.is_known())
    return check_traced(shape, op), Tensor::abstract(shape, options.dtype, options.device);
  const Tensor out = Tensor::empty(shape, options.dtype, options.device);
  const int64_t count = out.num_elements();
  dispatch_any(options.dtype, [&]<class T>(T) {
    const std::unique_ptr<T[]> values(new T[static_cast<size_t>(count)]);
    const auto put = [&](int64_t i, double value) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        values[static_cast<size_t>(i)] = T(static_cast<float>(value));
      else
        values[static_cast<size_t>(i)] = static_cast<T>(value);
    };
    parallel_for((count + 1) / 2, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const std::array<double, 2> draws = pair(i);
        put(2 * i, draws[0]);
        if (2 * i + 1 < count) put(2 * i + 1, draws[1]);
      }
    });
    out.copy_from_host(values.get());
  });
  return out;
}

/// A normal within two standard deviations: the first such one among the draws for element `i`.
double truncated_normal_of(int64_t i, uint64_t key) {
  for (uint32_t attempt = 0;; ++attempt)
    for (const double draw : normals_of(words_of(i, attempt, key)))
      if (std::abs(draw) <= 2.0) return draw;
}

void check_floating(DType dtype, std::string_view where) {
  if (!is_floating(dtype))
    throw DTypeError(std::string(where) + ": expected a floating dtype, received " +
                     std::string(name_of(dtype)));
}

}  // namespace

namespace {

/// The largest number of a 16-bit float below `high`.
template <class T>
double below(double high) {
  T limit(static_cast<float>(high));
  if (static_cast<double>(static_cast<float>(limit)) < high) return static_cast<float>(limit);
  if ((limit.bits & 0x7fffu) == 0)
    limit.bits = 0x8001u;
  else
    limit.bits = static_cast<uint16_t>(limit.bits & 0x8000u ? limit.bits + 1 : limit.bits - 1);
  return static_cast<float>(limit);
}

/// What uniform numbers below `high` are at most: rounding to a narrow dtype could give `high` itself.
double limit_below(DType dtype, double high) {
  if (dtype == DType::float32) return std::nextafter(static_cast<float>(high), -INFINITY);
  if (dtype == DType::bfloat16) return below<bfloat16>(high);
  if (dtype == DType::float16) return below<float16>(high);
  return high;
}

}  // namespace

Tensor random_uniform(const Shape& shape, double low, double high, const RandomOptions& options) {
  const bool whole = !is_floating(options.dtype);
  if (whole) {
    if (!(low < high))  // also where one of them is no number
      throw InvalidArgumentError("random_uniform: expected low < high for " +
                                 std::string(name_of(options.dtype)) + ", received " + number_text(low) +
                                 " and " + number_text(high));
    check_holds(options.dtype, std::floor(low), "random_uniform");
    check_holds(options.dtype, std::ceil(high) - 1.0, "random_uniform");
  }
  const double limit = limit_below(options.dtype, high);
  const auto placed = [&](double share) {
    const double value = low + (high - low) * share;
    return whole ? std::floor(value) : high > low && value > limit ? limit : value;
  };
  return drawn("random_uniform", shape, options, [&](int64_t i) {
    const auto words = words_of(i, 0, options.key);
    return std::array{placed(uniform_double(words[0], words[1])), placed(uniform_double(words[2], words[3]))};
  });
}

Tensor random_normal(const Shape& shape, double mean, double stddev, const RandomOptions& options) {
  check_floating(options.dtype, "random_normal");
  return drawn("random_normal", shape, options, [&](int64_t i) {
    const auto [first, second] = normals_of(words_of(i, 0, options.key));
    return std::array{mean + stddev * first, mean + stddev * second};
  });
}

Tensor random_truncated_normal(const Shape& shape, double mean, double stddev, const RandomOptions& options) {
  check_floating(options.dtype, "random_truncated_normal");
  return drawn("random_truncated_normal", shape, options, [&](int64_t i) {
    return std::array{mean + stddev * truncated_normal_of(2 * i, options.key),
                      mean + stddev * truncated_normal_of(2 * i + 1, options.key)};
  });
}

namespace {

RandomOptions global_draw() {
  const Collectives* const replica = thread_context().replica;
  return {.key = next_global_key(replica ? static_cast<size_t>(replica->replica_id()) : 0)};
}

}  // namespace

Tensor random_uniform(const Shape& shape, double low, double high) {
  return random_uniform(shape, low, high, global_draw());
}

Tensor random_normal(const Shape& shape, double mean, double stddev) {
  return random_normal(shape, mean, stddev, global_draw());
}

Tensor random_truncated_normal(const Shape& shape, double mean, double stddev) {
  return random_truncated_normal(shape, mean, stddev, global_draw());
}

}  // namespace nyala::ops
