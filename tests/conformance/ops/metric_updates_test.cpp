#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/reduction/metric_updates.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

const Tolerance kExact = {.relative = 1e-12, .absolute = 1e-12};

Tensor labels(int64_t rows, int64_t classes, DType dtype) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows; ++i) values.push_back(static_cast<double>(i * 5 % classes));
  return tensor_of(values, {rows}, dtype);
}

TEST(MetricUpdates, KernelsAgreeOverShapesAndDtypes) {
  for (const int64_t rows : {0, 1, 7, 300})
    for (const DType dtype : {DType::int32, DType::int64, DType::uint8, DType::float32}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::string(name_of(dtype)));
      const Tensors inputs = {labels(rows, 5, dtype), random_tensor({rows, 5}, 1),
                              random_tensor({rows}, 2, 0, 1)};
      expect_kernels_agree([](const Tensors& t) { return ops::label_hits_update(t[0], t[1]); }, inputs,
                           kExact);
      expect_kernels_agree([](const Tensors& t) { return ops::label_hits_update(t[0], t[1], t[2], 2); },
                           inputs, kExact);
      expect_kernels_agree([](const Tensors& t) { return ops::mean_update(t[0], t[2]); }, inputs, kExact);
      expect_kernels_agree([](const Tensors& t) { return ops::sum_update(t[0], t[2]); }, inputs, kExact);
      expect_kernels_agree([](const Tensors& t) { return ops::match_update(t[0], t[2], {}, 0.5); }, inputs,
                           kExact);
      expect_kernels_agree([](const Tensors& t) { return ops::match_update(t[0], t[0], t[2]); }, inputs,
                           kExact);
    }
}

TEST(MetricUpdates, SumsByHand) {
  const Tensor scores = tensor_of({1, 3, 3, 2, 2, 2, 5, 0, 1}, {3, 3});
  const auto hits = [&](const std::vector<double>& classes, int64_t k) {
    return values_of(ops::label_hits_update(tensor_of(classes, {3}, DType::int32), scores, {}, k));
  };
  EXPECT_EQ(hits({1, 0, 0}, 0), (std::vector<double>{3, 3}));
  EXPECT_EQ(hits({2, 1, 2}, 0), (std::vector<double>{0, 3})) << "the first of equal scores";
  EXPECT_EQ(hits({2, 1, 2}, 1), (std::vector<double>{2, 3})) << "ties are hits of the top k";
  EXPECT_EQ(hits({9, -1, 1}, 3), (std::vector<double>{1, 3})) << "no such class";
  const Tensor values = tensor_of({1, 2, 3, 4, 5, 6}, {3, 2}), weights = tensor_of({1, 0, 2}, {3});
  EXPECT_EQ(values_of(ops::mean_update(values)), (std::vector<double>{1.5 + 3.5 + 5.5, 3}));
  EXPECT_EQ(values_of(ops::mean_update(values, weights)), (std::vector<double>{1.5 + 2 * 5.5, 3}));
  EXPECT_EQ(values_of(ops::sum_update(values, weights)), (std::vector<double>{3 + 2 * 11}));
  EXPECT_EQ(values_of(ops::mean_update(tensor_of({7}, {}))), (std::vector<double>{7, 1}));
}

TEST(MetricUpdates, ShapesThatDoNotFit) {
  const Tensor scores = random_tensor({4, 3}, 1);
  EXPECT_THROW(ops::label_hits_update(labels(3, 3, DType::int32), scores), ShapeError);
  EXPECT_THROW(ops::match_update(labels(4, 3, DType::int32), scores), ShapeError);
  EXPECT_THROW(ops::mean_update(scores, labels(3, 3, DType::float32)), ShapeError);
}

}  // namespace
}  // namespace nyala::testing
