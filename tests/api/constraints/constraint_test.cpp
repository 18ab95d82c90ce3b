#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/constraints/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

/// Columns (3, 4) and (0, 0): norms 5 and 0.
const Tensor& weight() {
  static const Tensor w = Tensor::from(std::vector<double>{3, 0, 4, 0}, {2, 2});
  return w;
}

std::vector<double> projected(const Constraint& constraint, const Tensor& w = weight()) {
  return constraint(w).to_vector<double>();
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-7) << i;
}

TEST(Constraints, NormsAlongTheFirstAxis) {
  expect_near(projected(MaxNorm()), {3 * 2 / (5 + 1e-7), 0, 4 * 2 / (5 + 1e-7), 0});
  expect_near(projected(MaxNorm(10)), {3, 0, 4, 0});
  expect_near(projected(UnitNorm()), {0.6, 0, 0.8, 0});
  expect_near(projected(MinMaxNorm({.min_value = 6, .max_value = 7})), {3.6, 0, 4.8, 0});
  expect_near(projected(MinMaxNorm({.min_value = 0, .max_value = 1, .rate = 0.5})), {1.8, 0, 2.4, 0});
}

TEST(Constraints, OtherAxes) {
  expect_near(projected(UnitNorm({.axis = {1}})), {1, 0, 1, 0});
  expect_near(projected(UnitNorm({.axis = {0, 1}})), {0.6, 0, 0.8, 0});
  expect_near(projected(UnitNorm({.axis = {}})), {0.6, 0, 0.8, 0});
  EXPECT_THROW(projected(UnitNorm({.axis = {2}})), ShapeError);
}

TEST(Constraints, NonNegative) {
  expect_near(projected(NonNeg(), Tensor::from(std::vector<double>{-1, 0, 2})), {0, 0, 2});
}

TEST(Constraints, Names) {
  EXPECT_EQ(Constraint("max_norm").node().class_name(), "MaxNorm");
  EXPECT_EQ(Constraint("NonNeg").node().class_name(), "NonNeg");
  EXPECT_EQ(Constraint("unit_norm").node().class_name(), "UnitNorm");
  EXPECT_EQ(Constraint("min_max_norm").node().class_name(), "MinMaxNorm");
  try {
    Constraint("maxnorm");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("'max_norm'"), std::string::npos) << error.what();
  }
}

TEST(Constraints, BadArguments) {
  EXPECT_THROW(MaxNorm(-1), InvalidArgumentError);
  EXPECT_THROW(MinMaxNorm({.min_value = 2, .max_value = 1}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
