// add_loss, add_metric and scalars in a train_step where a replica has no rows: one device's numbers.
#include <cmath>

#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {
namespace {

class AddedLosses : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { configure_logical_devices("cpu", 3); }
};

struct MeanSquare : LayerNode {
  std::string class_name() const override { return "MeanSquare"; }
  Tensor call(Call& c, const Tensor& x) const override {
    c.add_loss(ops::square(x).mean());
    return x;
  }
};

/// Its own weight is a factor of a mean.
struct Scaled : LayerNode {
  Variable s;
  std::string class_name() const override { return "Scaled"; }
  void build(Builder& builder, const Shape&) override { s = builder.weight("s", {}, Constant(0.5)); }
  Tensor call(Call& c, const Tensor& x) const override {
    c.add_loss(ops::exp(-c[s]) * ops::square(x).mean() + c[s]);
    return x;
  }
};

std::vector<float> all_weights(const Model& model) {
  std::vector<float> all;
  for (const Variable& weight : model.weights())
    for (float value : weight.value().to_vector<float>()) all.push_back(value);
  return all;
}

void expect_near(const std::vector<float>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 2e-6) << i;
}

/// Keras 3.15: five rows of ones in batches of two, SGD(0.01).
TEST_F(AddedLosses, AMeanOverNoRowsDoesNotCount) {
  on_each_number_of_devices([] {
    const Tensor x = Tensor::ones({5, 2}), y = x.sum(1, true);
    const auto fitted = [&](const Layer& layer, double loss, const std::vector<double>& weights) {
      const Sequential model({Input({2}), Dense(2, {.kernel_initializer = "ones"}), layer,
                              Dense(1, {.kernel_initializer = "ones"})});
      model.compile({.optimizer = SGD(0.01), .loss = "mse"});
      const History history = model.fit(
          x, y, {.batch_size = 2, .verbose = 0, .validation_data = {x, y}, .validation_batch_size = 2});
      EXPECT_NEAR(history["loss"][0], loss, 5e-6);
      expect_near(all_weights(model), weights);
      return history["val_loss"][0];
    };
    EXPECT_NEAR(fitted(make_layer<MeanSquare>(), 5.941172122955322,
                       {0.8652951121330261, 0.8652951121330261, 0.8652951121330261, 0.8652951121330261,
                        -0.13470487296581268, -0.13470487296581268, 0.8422925472259521, 0.8422925472259521,
                        -0.08393406122922897}),
                2.9122350215911865, 5e-6);
    fitted(make_layer<Scaled>(), 5.164068698883057,
           {0.8850910067558289, 0.8850910067558289, 0.8850910067558289, 0.8850910067558289,
            -0.11490902304649353, -0.11490902304649353, 0.5324175357818604, 0.8370227813720703,
            0.8370227813720703, -0.08612269908189774});
  });
}

TEST_F(AddedLosses, OfALoopOfOnesOwn) {
  for (int count : {1, 2, 3}) {
    const MirroredStrategy strategy = mirrored(count);
    const Layer layer = strategy.scope([] {
      return Layer(Sequential({Input({2}), make_layer<MeanSquare>()}));
    });
    std::vector<double> losses;
    const Tensor x = Tensor::arange(10).reshape({5, 2});
    for (const DistributedBatch& batch : strategy.distribute(Dataset::from_tensor_slices(x).batch(2)))
      losses.push_back(strategy
                           .reduce(ReduceOp::sum, strategy.run(
                                                      [&](const Batch& part) {
                                                        TrainingPass pass(batch);
                                                        pass(layer, part.x[0]);
                                                        return pass.losses(layer);
                                                      },
                                                      batch))
                           .item());
    ASSERT_EQ(losses.size(), 3u);
    EXPECT_NEAR(losses[0], 14 / 4.0, 1e-5) << count;
    EXPECT_NEAR(losses[1], 126 / 4.0, 1e-5) << count;
    EXPECT_NEAR(losses[2], 145 / 2.0, 1e-5) << count;
  }
}

/// A metric of rows and one of the batch.
struct Watch : LayerNode {
  std::string name_of_metric;
  explicit Watch(std::string name) : name_of_metric(std::move(name)) {}
  std::string class_name() const override { return "Watch"; }
  Tensor call(Call& c, const Tensor& x) const override {
    c.add_metric(name_of_metric + "_rows", x.sum(1));
    c.add_metric(name_of_metric + "_mean", ops::square(x).mean());
    return x;
  }
};

struct Own : ModelNode {
  bool counts_metrics;
  Layer watch = track("watch", make_layer<Watch>(std::string("kl"))),
        aside = track("aside", make_layer<Watch>(std::string("aside")));
  Layer dense = track("dense", Dense(1, {.kernel_initializer = "ones"}));
  Metric seen = track_metric(metrics::Mean({.name = "seen"}));
  explicit Own(bool counts) : counts_metrics(counts) {}
  std::string class_name() const override { return "Own"; }
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, watch(c, x)); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor p = step.forward(batch.x[0]);
    aside(batch.x[0]);
    const Tensor loss = step.compute_loss(batch, {p});
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
    step.track_loss(loss);
    seen.update_state(ops::square(p).mean());
    if (counts_metrics) step.compute_metrics(batch, {p});
  }
};

TEST_F(AddedLosses, MetricsAndScalarsOfATrainStep) {
  const Tensor x = Tensor::arange(10).reshape({5, 2}) / 4.0, y = x.sum(1, true);
  on_each_number_of_devices([&] {
    for (bool counts : {false, true}) {
      const Model model = make_model<Own>(counts);
      model.compile({.optimizer = SGD(0.0), .loss = "mse"});
      const History history = model.fit(x, y, {.batch_size = 2, .verbose = 0, .shuffle = false});
      // Rows sum to 1/4 (1, 5, 9, 13, 17); the batches' means of squares count alike, as in Keras.
      EXPECT_NEAR(history["kl_rows"][0], 45 / 20.0, 1e-6);
      EXPECT_NEAR(history["kl_mean"][0], (14 / 64.0 + 126 / 64.0 + 145 / 32.0) / 3, 1e-6);
      EXPECT_NEAR(history["seen"][0], (26 / 32.0 + 250 / 32.0 + 289 / 16.0) / 3, 1e-5);
      EXPECT_NEAR(history["aside_rows"][0], 17 / 4.0, 1e-6);  // not in call(): of the last step
      const Logs logs = model.evaluate(x, y, {.batch_size = 2, .verbose = 0});
      EXPECT_NEAR(logs["kl_rows"], 45 / 20.0, 1e-6);
    }
  });
}

}  // namespace
}  // namespace nyala
