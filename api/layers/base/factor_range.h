#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nyala/api/base/fields.h>
#include <nyala/backend/ops/base/uniform_rows.h>

namespace nyala {

/// The argument of a layer that changes images at random: one number, or the limits of one, `0.2` or
/// `{-0.1, 0.3}`. Empty: Keras' None.
class FactorRange {
 public:
  FactorRange() = default;
  FactorRange(double number) : numbers_{number} {}
  FactorRange(double lower, double upper) : numbers_{lower, upper} {}
  explicit FactorRange(std::vector<double> numbers) : numbers_(std::move(numbers)) {}

  bool empty() const { return numbers_.empty(); }
  /// As they were given.
  const std::vector<double>& list() const { return numbers_; }

 private:
  std::vector<double> numbers_;
};

namespace detail {

void visit_factor(FieldVisitor& v, const char* name, FactorRange& factor);

/// The limits that Keras' base class makes of a factor, for bounds [least, most]: one number f becomes
/// [max(-|f|, least), |f|], two are sorted. Throws InvalidArgumentError naming `layer` and `field` for one
/// number outside of the bounds, two that miss them, or another count.
FactorRange standard_limits(const std::string& layer, const FactorRange& factor, double least,
                            double most = 1.0, const std::string& field = "factor");

/// The limits of a height_factor or width_factor: one number f becomes [-|f|, |f|], two are sorted. Throws
/// InvalidArgumentError for a number above 1, below -1 or, if `zoom`, equal to -1, and for another count.
ops::UniformRange motion_limits(const std::string& layer, const std::string& field, const FactorRange& factor,
                                bool zoom);

/// Two numbers as they are. Throws InvalidArgumentError for another count.
ops::UniformRange two_limits(const std::string& layer, const std::string& field, const FactorRange& range);
/// The same, the smaller one first.
FactorRange sorted_limits(const std::string& layer, const std::string& field, const FactorRange& range);

}  // namespace detail

}  // namespace nyala
