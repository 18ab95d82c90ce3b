// Which dtypes losses and metrics of one's own see: those of Keras 3.15, where Loss.__call__ casts both
// tensors and MeanMetricWrapper casts none.
#include <atomic>

#include <gtest/gtest.h>

#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {

using namespace nyala::detail;
namespace {

/// What a call saw.
struct Seen {
  DType y_true = DType::uint8, y_pred = DType::uint8;
  const void* labels = nullptr;
};

/// `1 - t` of bytes is no number below 0, and `t * 100` no number above 255.
Tensor values(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(ops::square((1.0 - y_true) * 100.0 - y_pred), -1);
}

Loss remembering(Seen& seen) {
  return Loss([&seen](const Tensor& y_true, const Tensor& y_pred) {
    seen = {y_true.dtype(), y_pred.dtype(), y_true.raw()};
    return values(y_true, y_pred);
  });
}

struct OwnLoss : LossNode {
  Seen* seen;
  explicit OwnLoss(Seen* where) : seen(where) {}
  std::string class_name() const override { return "OwnLoss"; }
  std::string name() const override { return "own"; }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    *seen = {y_true.dtype(), y_pred.dtype(), y_true.raw()};
    return values(y_true, y_pred);
  }
};

const Tensor kX = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {5, 2});
const Tensor kY = Tensor::from(std::vector<float>{1, 0, 1, 1, 0}, {5, 1});
constexpr DType kLabels[] = {DType::uint8, DType::bool_, DType::int32, DType::int64};

TEST(LossDType, IsFloat32ForBothTensors) {
  Seen seen;
  for (const Loss& loss : {remembering(seen), Loss(std::make_shared<OwnLoss>(&seen))}) {
    const double wanted = loss(kY, kY * 0.5).item();
    for (const DType labels : kLabels)
      for (const DType predictions : {DType::float32, DType::float16, DType::bfloat16}) {
        EXPECT_EQ(loss(ops::cast(kY, labels), ops::cast(kY * 0.5, predictions)).item(), wanted);
        EXPECT_EQ(seen.y_true, DType::float32);
        EXPECT_EQ(seen.y_pred, DType::float32);
      }
    loss(ops::cast(kY, DType::int64), ops::cast(kY, DType::float64));
    EXPECT_EQ(seen.y_true, DType::float64);  // a model of float64 stays one; Keras: with set_floatx
    EXPECT_EQ(seen.y_pred, DType::float64);
  }
}

TEST(LossDType, CopiesNothingThatHasIt) {
  Seen seen;
  const Loss loss = remembering(seen);
  loss(kY, kY * 0.5);
  EXPECT_EQ(seen.labels, kY.raw());
  const Tensor classes = Tensor::from(std::vector<int32_t>{1, 0, 1});
  const auto [target, prediction] =
      in_loss_dtype(SparseCategoricalCrossentropy().node(), classes, Tensor::ones({3, 2}));
  EXPECT_EQ(target.raw(), classes.raw());
  EXPECT_EQ(target.dtype(), DType::int32);
}

struct Trained {
  double loss, metric, metric_of_loss;
  std::vector<float> kernel;
  DType seen_by_metric;
};

Trained train(DType labels, int replicas, bool whole_batch) {
  return mirrored(replicas).scope([&] {
    std::atomic<DType> seen = DType::float64;
    const auto metric = [&seen](const Tensor& y_true, const Tensor& y_pred) {
      seen.store(y_true.dtype());
      return ops::mean(ops::cast(y_true, DType::float32) - y_pred, -1);
    };
    const Loss loss(values, {.rows_are_independent = !whole_batch});
    Sequential model({Input({2}), Dense(1, {.kernel_initializer = Constant(0.1)})});
    model.compile({.optimizer = SGD(1e-4),
                   .loss = loss,
                   .metrics = {Metric(metric, "own"), Metric(loss).renamed("same")}});
    const History history =
        model.fit(kX, ops::cast(kY, labels), {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false});
    return Trained{history.last("loss"), history.last("own"), history.last("same"),
                   model.weights()[0].value().to_vector<float>(), seen.load()};
  });
}

TEST(LossDType, LabelsOfAnyTypeTrainAlikeOnAnyNumberOfReplicas) {
  configure_logical_devices("cpu", 2);
  for (const bool whole_batch : {false, true}) {
    const Trained wanted = train(DType::float32, 1, whole_batch);
    for (const DType labels : kLabels)
      for (const int replicas : {1, 2}) {
        const Trained got = train(labels, replicas, whole_batch);
        EXPECT_NEAR(got.loss, wanted.loss, 1e-6 * wanted.loss) << name_of(labels) << replicas;
        EXPECT_NEAR(got.metric, wanted.metric, 1e-5) << name_of(labels) << replicas;
        EXPECT_NEAR(got.metric_of_loss, got.loss, 1e-5 * wanted.loss) << name_of(labels) << replicas;
        EXPECT_NEAR(got.kernel[0], wanted.kernel[0], 1e-6) << name_of(labels) << replicas;
        EXPECT_EQ(got.seen_by_metric, labels);
      }
  }
}

TEST(LossDType, ClassNumbersThatBecameFloatsIndexStill) {
  const Loss loss([](const Tensor& y_true, const Tensor& y_pred) {
    return ops::sum(ops::one_hot(y_true, 3) * y_pred, -1);
  });
  const Tensor y_pred = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(loss(Tensor::from(std::vector<int64_t>{2, 0}), y_pred).item(), 3.5);
}

}  // namespace
}  // namespace nyala
