// Class numbers outside of [0, num_classes), as Keras 3.15 on TensorFlow counts them: pairs with one do not
// count, and fractions are cut off.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/api/metrics/all.h>

namespace nyala::class_numbers_test {
namespace {

struct Case {
  std::vector<double> y_true, y_pred, pairs;
  double result;
};

TEST(ClassNumbers, PairsOutsideDoNotCount) {
  const Case cases[] = {
      {{0, 1, 5}, {0, 1, 2}, {1, 0, 0, 0, 1, 0, 0, 0, 0}, 0.9999998807907104},
      {{0, 1, 2}, {0, 1, 7}, {1, 0, 0, 0, 1, 0, 0, 0, 0}, 0.9999998807907104},
      {{0, -1, 2}, {0, 1, 2}, {1, 0, 0, 0, 0, 0, 0, 0, 1}, 0.9999998807907104},
      {{-0.5, 1.7, 2}, {0, 1.2, 2.9}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, 0.9999998211860657},
      {{0, NAN, 2}, {0, 1, 2}, {1, 0, 0, 0, 0, 0, 0, 0, 1}, 0.9999998807907104},
      {{0, 1, 2}, {1, 0, -3}, {0, 1, 0, 1, 0, 0, 0, 0, 0}, 0.0},
  };
  for (const auto& [y_true, y_pred, pairs, result] : cases) {
    Metric metric = MeanIoU({.num_classes = 3});
    metric.update_state(Tensor::from(y_true), Tensor::from(y_pred));
    EXPECT_EQ(metric.sums().parts(metric.node()), std::vector<std::vector<double>>{pairs});
    EXPECT_NEAR(metric.result(), result, 1e-6);
  }
}

}  // namespace
}  // namespace nyala::class_numbers_test
