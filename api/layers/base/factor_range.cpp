#include <nyala/api/layers/base/factor_range.h>

#include <algorithm>
#include <cmath>

#include <nyala/api/base/shown_list.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& expected, const FactorRange& received) {
  std::string numbers;
  for (const double number : received.list()) numbers += (numbers.empty() ? "" : ", ") + number_text(number);
  throw InvalidArgumentError(what + ": expected " + expected + ", received (" + numbers + ")");
}

}  // namespace

void detail::visit_factor(FieldVisitor& v, const char* name, FactorRange& factor) {
  std::vector<double> numbers = factor.list();
  if (shown_and_changed(v, name, numbers)) factor = FactorRange(std::move(numbers));
}

// Two numbers are only held against the bounds on their far sides: so does Keras, whose files may hold
// others.
FactorRange detail::standard_limits(const std::string& layer, const FactorRange& factor, double least,
                                    double most, const std::string& field) {
  const std::vector<double>& given = factor.list();
  const std::string what = layer + ", " + field,
                    expected = "a number, or two, in [" + number_text(least) + ", " + number_text(most) + "]";
  if (given.size() == 1) {
    if (!(given[0] >= least && given[0] <= most)) refuse(what, expected, factor);
    const double size = std::abs(given[0]);
    return {std::max(-size, least), size};
  }
  if (given.size() != 2 || !(given[0] <= most && given[1] >= least) || !std::isfinite(given[0] + given[1]))
    refuse(what, expected, factor);
  return {std::min(given[0], given[1]), std::max(given[0], given[1])};
}

ops::UniformRange detail::motion_limits(const std::string& layer, const std::string& field,
                                        const FactorRange& factor, bool zoom) {
  const std::vector<double>& given = factor.list();
  const auto fits = [zoom](double number) {
    return number <= 1.0 && (zoom ? number > -1.0 : number >= -1.0);
  };
  if (given.empty() || given.size() > 2 || !std::ranges::all_of(given, fits))
    refuse(layer + ", " + field, std::string("a number, or two, in ") + (zoom ? "(" : "[") + "-1, 1]",
           factor);
  if (given.size() == 1) return {-std::abs(given[0]), std::abs(given[0])};
  return {std::min(given[0], given[1]), std::max(given[0], given[1])};
}

ops::UniformRange detail::two_limits(const std::string& layer, const std::string& field,
                                     const FactorRange& range) {
  if (range.list().size() != 2) refuse(layer + ", " + field, "two numbers", range);
  return {range.list()[0], range.list()[1]};
}

FactorRange detail::sorted_limits(const std::string& layer, const std::string& field,
                                  const FactorRange& range) {
  const auto [one, other] = two_limits(layer, field, range);
  return {std::min(one, other), std::max(one, other)};
}

}  // namespace nyala
