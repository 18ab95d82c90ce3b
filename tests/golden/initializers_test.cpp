#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/initializers/all.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/golden/from_config.h>

namespace nyala::golden {

using namespace nyala::detail;
namespace {

Tensor draw(const Initializer& initializer, const Shape& shape) {
  const Tensor value = Tensor::empty(shape);
  initializer(value);
  return value;
}

struct Statistics {
  double mean = 0, deviation = 0, largest = 0;
};

/// Mean, standard deviation and largest distance from `center`.
Statistics statistics_of(const std::vector<double>& values, double center) {
  Statistics result;
  for (double value : values) result.mean += value / static_cast<double>(values.size());
  for (double value : values) {
    result.deviation += (value - result.mean) * (value - result.mean) / static_cast<double>(values.size());
    result.largest = std::max(result.largest, std::abs(value - center));
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

/// The fourth central moment over the squared variance: 1.8 uniform, 3 normal, 2.37 normal cut at two
/// deviations.
double kurtosis(const std::vector<double>& values, const Statistics& of) {
  double fourth = 0;
  for (double value : values) fourth += std::pow((value - of.mean) / of.deviation, 4);
  return fourth / static_cast<double>(values.size());
}

void check_kind(const std::string& kind, double kurtosis, double tolerance, const std::string& what) {
  const double expected = kind == "uniform" ? 1.8 : kind == "truncated_normal" ? 2.37 : 3.0;
  EXPECT_NEAR(kurtosis, expected, tolerance) << what;
}

void check_random(const Json& entry) {
  const Json& expected = entry.at("expected");
  const std::string what = label(entry) + entry.at("shape").dump();
  const Initializer initializer = make_initializer(entry.at("name").as_string(), entry.at("config"));
  const std::vector<double> values =
      to_doubles(draw(initializer, entry.at("shape").get<std::vector<int64_t>>()));
  const double mean = expected.at("mean").get<double>(), deviation = expected.at("stddev").get<double>();
  const double tolerance = 5.0 / std::sqrt(static_cast<double>(values.size()));
  const Statistics got = statistics_of(values, mean);
  EXPECT_NEAR(got.mean, mean, tolerance * deviation) << what;
  EXPECT_NEAR(got.deviation / deviation, 1.0, tolerance) << what;
  check_kind(expected.at("kind").as_string(), kurtosis(values, got), 5.0 * tolerance, what);
  if (expected.at("limit").is_null()) return;
  const double limit = expected.at("limit").get<double>();
  EXPECT_LE(got.largest, limit * (1 + 1e-6)) << what;
  EXPECT_GE(got.largest, 0.9 * limit) << what;
}

TEST(GoldenInitializers, Fans) {
  const Json golden = load("initializers.json");
  for (const Json& entry : golden.at("fans")) {
    const auto [in, out] = fans(Shape(entry.at("shape").get<std::vector<int64_t>>()));
    EXPECT_EQ(in, entry.at("fan_in").get<int64_t>()) << entry.at("shape");
    EXPECT_EQ(out, entry.at("fan_out").get<int64_t>()) << entry.at("shape");
  }
}

TEST(GoldenInitializers, RandomOnesHaveKerasDistribution) {
  set_random_seed(2026);
  const Json golden = load("initializers.json");
  for (const Json& entry : golden.at("random")) check_random(entry);
}

TEST(GoldenInitializers, ExactOnes) {
  const Json golden = load("initializers.json");
  for (const Json& entry : golden.at("exact")) {
    const Initializer initializer = make_initializer(entry.at("name").as_string(), entry.at("config"));
    expect_close(draw(initializer, {2, 3}), entry.at("value"), label(entry), {.absolute = 0, .relative = 0});
  }
}

TEST(GoldenInitializers, NamesMeanKerasClasses) {
  const Json golden = load("initializers.json");
  for (const Json& entry : golden.at("names"))
    EXPECT_EQ(Initializer(entry.at("name").get<std::string>()).node().class_name(),
              entry.at("class").get<std::string>());
}

}  // namespace
}  // namespace nyala::golden
