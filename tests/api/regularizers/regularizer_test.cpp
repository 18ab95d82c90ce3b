#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/regularizers/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

const Tensor kWeight = {1.0f, -2.0f, 0.0f, 3.0f};

TEST(Regularizers, Penalties) {
  EXPECT_FLOAT_EQ(static_cast<float>(L1()(kWeight).item()), 0.06f);
  EXPECT_FLOAT_EQ(static_cast<float>(L2()(kWeight).item()), 0.14f);
  EXPECT_FLOAT_EQ(static_cast<float>(L1L2({.l1 = 0.5, .l2 = 0.25})(kWeight).item()), 6.5f);
  EXPECT_EQ(L1L2()(kWeight).item(), 0.0);
  EXPECT_FLOAT_EQ(static_cast<float>(L2(2)(kWeight).item()), 28.0f);
}

TEST(Regularizers, OfNothingIsNothing) {
  EXPECT_EQ(L1L2({.l1 = 1, .l2 = 1})(Tensor::zeros({0, 3})).item(), 0.0);
}

TEST(Regularizers, KeepFloat64) {
  EXPECT_EQ(L2()(Tensor::zeros({2}, DType::float64)).dtype(), DType::float64);
}

TEST(Regularizers, Names) {
  EXPECT_EQ(Regularizer("l1").node().class_name(), "L1");
  EXPECT_EQ(Regularizer("L2").node().class_name(), "L2");
  EXPECT_EQ(Regularizer("l1_l2").node().class_name(), "L1L2");
  EXPECT_EQ(Regularizer("l1l2").node().class_name(), "L1L2");
  EXPECT_FALSE(Regularizer());
  EXPECT_THROW(Regularizer("l3"), InvalidArgumentError);
}

TEST(Regularizers, FactorsAreFinite) {
  EXPECT_THROW(L1(std::nan("")), InvalidArgumentError);
  EXPECT_THROW(L1L2({.l2 = std::numeric_limits<double>::infinity()}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
