#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/initializers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;
namespace {

std::vector<double> draw(const Initializer& initializer, const Shape& shape, DType dtype = DType::float64) {
  const Tensor value = Tensor::empty(shape, dtype);
  initializer(value);
  return ops::cast(value, DType::float64).to_vector<double>();
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (double x : values) sum += x * x;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(Initializers, SeededOnesRepeatAndUnseededOnesDoNot) {
  const Initializer seeded = GlorotUniform({.seed = 7});
  EXPECT_EQ(draw(seeded, {4, 5}), draw(seeded, {4, 5}));
  EXPECT_EQ(draw(seeded, {4, 5}), draw(GlorotUniform({.seed = 7}), {4, 5}));
  EXPECT_NE(draw(seeded, {4, 5}), draw(GlorotUniform({.seed = 8}), {4, 5}));
  const Initializer unseeded = "glorot_uniform";
  EXPECT_NE(draw(unseeded, {4, 5}), draw(unseeded, {4, 5}));
}

TEST(Initializers, UnseededOnesFollowTheGlobalSeed) {
  set_random_seed(3);
  const auto first = draw("he_normal", {10});
  const auto second = draw("he_normal", {10});
  set_random_seed(3);
  EXPECT_EQ(draw("he_normal", {10}), first);
  EXPECT_EQ(draw("he_normal", {10}), second);
}

TEST(Initializers, OneSeedGivesTheSameNumbersInEveryDtype) {
  const auto wide = draw(RandomNormal({.seed = 1}), {50});
  const auto narrow = draw(RandomNormal({.seed = 1}), {50}, DType::float32);
  for (size_t i = 0; i < wide.size(); ++i) EXPECT_EQ(static_cast<float>(wide[i]), narrow[i]);
}

TEST(Initializers, NamesAreClassNamesSnakeCaseAndAliases) {
  for (const auto& [name, class_name] :
       std::vector<std::pair<std::string, std::string>>{{"GlorotUniform", "GlorotUniform"},
                                                        {"glorot_uniform", "GlorotUniform"},
                                                        {"uniform", "RandomUniform"},
                                                        {"normal", "RandomNormal"},
                                                        {"zero", "Zeros"},
                                                        {"one", "Ones"},
                                                        {"identity", "Identity"},
                                                        {"IdentityInitializer", "Identity"},
                                                        {"OrthogonalInitializer", "Orthogonal"},
                                                        {"variance_scaling", "VarianceScaling"},
                                                        {"constant", "Constant"}})
    EXPECT_EQ(Initializer(name).node().class_name(), class_name) << name;
}

TEST(Initializers, AWrongNameIsToldWithTheNearest) {
  try {
    Initializer("glorot_unifrom");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'glorot_uniform'?"), std::string::npos)
        << error.what();
  }
}

TEST(Initializers, FansCanBeTakenFromChosenAxes) {
  const Shape shape{2, 50, 40, 3};
  const auto values =
      draw(VarianceScaling({.mode = "fan_in", .seed = 1, .input_axes = {1, 2}, .output_axes = {3}}), shape);
  EXPECT_NEAR(root_mean_square(values), 1 / std::sqrt(2000.0), 0.03 / std::sqrt(2000.0));
  const auto kernel = draw(HeNormal({.seed = 1}), shape);
  EXPECT_NEAR(root_mean_square(kernel), std::sqrt(2 / 4000.0), 0.03 * std::sqrt(2 / 4000.0));
}

TEST(Initializers, UntruncatedNormalReachesBeyondTwoDeviations) {
  const auto values =
      draw(VarianceScaling({.mode = "fan_out", .distribution = "untruncated_normal", .seed = 1}), {100, 100});
  EXPECT_NEAR(root_mean_square(values), 0.1, 0.003);
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](double x) { return std::abs(x) > 0.3; }));
}

TEST(Initializers, EmptyAndScalarShapes) {
  EXPECT_TRUE(draw("glorot_uniform", {0, 5}).empty());
  EXPECT_TRUE(draw("orthogonal", {0, 5}).empty());
  EXPECT_EQ(draw("he_uniform", {}).size(), 1u);
}

void expect_orthonormal_columns(const std::vector<double>& values, size_t rows, size_t columns, double gain) {
  for (size_t a = 0; a < columns; ++a)
    for (size_t b = 0; b < columns; ++b) {
      double dot = 0;
      for (size_t row = 0; row < rows; ++row) dot += values[row * columns + a] * values[row * columns + b];
      EXPECT_NEAR(dot, a == b ? gain * gain : 0.0, 1e-12);
    }
}

TEST(Initializers, OrthogonalTallWideAndOfHigherRank) {
  expect_orthonormal_columns(draw(Orthogonal({.gain = 1.5, .seed = 2}), {9, 4}), 9, 4, 1.5);
  expect_orthonormal_columns(draw(Orthogonal({.seed = 2}), {3, 3, 4}), 9, 4, 1.0);
  const auto wide = draw(Orthogonal({.seed = 2}), {3, 7});
  std::vector<double> transposed(21);
  for (size_t row = 0; row < 3; ++row)
    for (size_t column = 0; column < 7; ++column) transposed[column * 3 + row] = wide[row * 7 + column];
  expect_orthonormal_columns(transposed, 7, 3, 1.0);
  EXPECT_THROW(draw("orthogonal", {4}), ShapeError);
}

TEST(Initializers, IdentityIsForMatricesAlone) {
  EXPECT_EQ(draw(Identity({.gain = 2}), {2, 3}), (std::vector<double>{2, 0, 0, 0, 2, 0}));
  EXPECT_THROW(draw("identity", {2, 2, 2}), ShapeError);
}

TEST(Initializers, ConstantTakesAValueAndIntegers) {
  EXPECT_EQ(draw(Constant(3), {2}, DType::int32), (std::vector<double>{3, 3}));
  EXPECT_EQ(draw(Constant(1.5), {1}, DType::bfloat16), (std::vector<double>{1.5}));
}

TEST(Initializers, BadArguments) {
  EXPECT_THROW(VarianceScaling({.scale = 0}), InvalidArgumentError);
  EXPECT_THROW(VarianceScaling({.mode = "fan"}), InvalidArgumentError);
  EXPECT_THROW(VarianceScaling({.distribution = "normal"}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
