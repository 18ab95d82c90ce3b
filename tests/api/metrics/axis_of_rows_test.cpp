// Metrics and losses whose axis is that of the rows: several replicas give the numbers of one, which are
// those of Keras 3.15 on TensorFlow for the same batches of three and two rows.
#include <gtest/gtest.h>

#include <nyala/api/layers/core/dense.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::axis_of_rows_test {
namespace {

const Tensor kY = Tensor::from(std::vector<float>{1, 0, 2, 0, 1, 5, 3, 1, 1, 2, 2, 0, 4, 1, 3}, {5, 3});
const Tensor kX = Tensor::from(std::vector<float>{2, 1, 1, 1, 0, 4, 2, 2, 1, 5, 1, 1, 3, 0, 2}, {5, 3});

class AxisOfRows : public testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 4); }

  /// A model that gives its input.
  static Model identity(const CompileConfig& config) {
    Sequential model({Input({3}), Dense(3, {.use_bias = false, .kernel_initializer = "identity"})});
    model.compile(config);
    return model;
  }
  /// Evaluated in batches of three and two rows on so many replicas.
  static double metric_on(int replicas, const Metric& metric) {
    return mirrored(replicas).scope([&] {
      const Model model = identity({.optimizer = SGD(0.0), .loss = "mse", .metrics = {metric}});
      return model.evaluate(kX, kY, {.batch_size = 3, .verbose = 0})[metric.name()];
    });
  }
  /// The loss of a step with all rows, and the weights behind it.
  static std::pair<double, std::vector<float>> step_on(int replicas, const Loss& loss) {
    return mirrored(replicas).scope([&] {
      const Model model = identity({.optimizer = SGD(0.1), .loss = loss});
      const Tensor y = kY / ops::sum(kY, {0}, true), x = kX / 6.0;
      const double value = model.train_on_batch(x, y)["loss"];
      return std::pair(value, model.get_weights()[0].to_vector<float>());
    });
  }
};

TEST_F(AxisOfRows, MetricsSeeTheWholeBatch) {
  for (const int64_t axis : {0, -2}) {
    const std::pair<Metric, double> cases[] = {
        {PearsonCorrelation({.axis = axis}), 0.4544423818588257},
        {ConcordanceCorrelation({.axis = axis}), 0.2687091529369354},
        {metrics::CosineSimilarity({.axis = axis}), 0.849668025970459},
        {OneHotMeanIoU({.num_classes = 5, .axis = axis}), 0.2777777910232544}};
    for (const auto& [metric, wanted] : cases)
      for (const int replicas : {1, 2, 3, 4})
        EXPECT_NEAR(metric_on(replicas, metric), wanted, 1e-6)
            << metric.name() << ", axis " << axis << ", " << replicas << " replicas";
  }
}

TEST_F(AxisOfRows, MetricsOfEachRowStayThat) {
  for (const int64_t axis : {1, -1})
    for (const int replicas : {1, 2, 3}) {
      EXPECT_NEAR(metric_on(replicas, PearsonCorrelation({.axis = axis})), 0.5815682411193848, 1e-6);
      EXPECT_NEAR(metric_on(replicas, metrics::CosineSimilarity({.axis = axis})), 0.8763402700424194, 1e-6);
    }
}

TEST_F(AxisOfRows, LossesSeeTheWholeBatch) {
  const std::pair<Loss, double> cases[] = {{CosineSimilarity({.axis = 0}), -0.8069214224815369},
                                           {BinaryCrossentropy({.axis = 0}), 0.9198155999183655},
                                           {BinaryFocalCrossentropy({.axis = 0}), 0.13060498237609863},
                                           {CategoricalCrossentropy({.axis = 0}), 3.3482649326324463},
                                           {CategoricalFocalCrossentropy({.axis = 0}), 0.7153916358947754}};
  for (const auto& [loss, wanted] : cases) {
    const auto [value, weights] = step_on(1, loss);
    EXPECT_NEAR(value, wanted, 2e-6) << loss.name();
    for (const int replicas : {2, 3}) {
      const auto [other_value, other_weights] = step_on(replicas, loss);
      EXPECT_NEAR(other_value, wanted, 2e-6) << loss.name() << ", " << replicas << " replicas";
      for (size_t i = 0; i < weights.size(); ++i)
        EXPECT_NEAR(other_weights[i], weights[i], 1e-6) << loss.name() << ", " << replicas << " replicas";
    }
  }
}

TEST_F(AxisOfRows, UnderAnotherNumberLossesOfSeveralReplicasRefuseIt) {
  const Loss losses[] = {CosineSimilarity({.axis = -2}), BinaryCrossentropy({.axis = -2}),
                         BinaryFocalCrossentropy({.axis = -2}), CategoricalCrossentropy({.axis = -2}),
                         CategoricalFocalCrossentropy({.axis = -2})};
  for (const Loss& loss : losses)
    expect_error<InvalidArgumentError>([&] { step_on(2, loss); },
                                       {"axis -2", "is that of the rows", ".axis = 0"});
}

}  // namespace
}  // namespace nyala::axis_of_rows_test
