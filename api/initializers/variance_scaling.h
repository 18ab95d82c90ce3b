#pragma once

#include <utility>

#include <nyala/api/base/fields.h>
#include <nyala/api/initializers/initializer.h>

namespace nyala {

struct VarianceScalingConfig {
  double scale = 1.0;
  std::string mode = "fan_in";                    // or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  // or "untruncated_normal", "uniform"
  int64_t seed = -1;
  std::vector<int64_t> input_axes = {};  // both empty: as fans() says
  std::vector<int64_t> output_axes = {};

  void fields(FieldVisitor& v);
};

/// Mean 0 and variance scale / max(1, n), where n is the number of input units, of output units, or their
/// mean. "uniform" draws from [-l, l) with l = sqrt(3 * variance); "truncated_normal" has that variance after
/// the cut at two standard deviations.
class VarianceScaling : public Initializer {
 public:
  using Config = VarianceScalingConfig;
  /// Throws InvalidArgumentError for scale <= 0, another mode or another distribution.
  explicit VarianceScaling(const Config& config = {});
  template <size_t N>
  explicit VarianceScaling(const NoSuchField (&)[N]) = delete;
};

/// The fields of the variants with fixed scale, mode and distribution (Glorot, He, Lecun).
struct FanInitializerConfig {
  int64_t seed = -1;
  std::vector<int64_t> input_axes = {};
  std::vector<int64_t> output_axes = {};

  void fields(FieldVisitor& v);
};

namespace detail {

/// A variant under its own class name.
Initializer variance_scaling_variant(std::string class_name, VarianceScalingConfig fixed,
                                     const FanInitializerConfig& config);

/// `initializer` with these as the axes of input and output units, where it is one of this family that names
/// none itself; else as it is.
Initializer with_fan_axes(const Initializer& initializer, const std::vector<int64_t>& input_axes,
                          const std::vector<int64_t>& output_axes);

/// Input and output units of a weight: () 1 and 1, (n) n and n, (a, b) a and b, (..., a, b) the product of
/// the leading sizes times a and b.
std::pair<int64_t, int64_t> fans(const Shape& shape);

}  // namespace detail

}  // namespace nyala
