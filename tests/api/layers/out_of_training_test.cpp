// The example of docs/fine_tuning.md: Keras' base(x, training=False).
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {

namespace {

/// Runs what is in it out of training, whatever runs around it.
struct OutOfTraining : LayerNode {
  Layer inner;

  explicit OutOfTraining(const Layer& layer) : inner(track("inner", layer)) {}
  std::string class_name() const override { return "OutOfTraining"; }
  Tensor call(Call& c, const Tensor& x) const override {
    const bool training = c.training();
    c.set_training(false);
    const Tensor y = inner(c, x);
    c.set_training(training);
    return y;
  }
};

TEST(OutOfTraining, DropoutRestsAndStatisticsStay) {
  set_random_seed(2);
  const Sequential base({Input({3}), Dense(4), BatchNormalization(), Dropout(0.5)});
  const Sequential model({Input({3}), make_layer<OutOfTraining>(base), Dense(1)});
  model.compile({.optimizer = SGD(0.0), .loss = "mse"});
  const Tensor x = ops::random_uniform({8, 3}), y = Tensor::zeros({8, 1});
  const auto mean = [&] { return base.non_trainable_weights()[0].value().to_vector<float>(); };
  const std::vector<float> before = mean();
  const double trained = model.fit(x, y, {.verbose = 0}).last("loss");
  EXPECT_FLOAT_EQ(trained, model.evaluate(x, y, {.verbose = 0})["loss"]);
  EXPECT_EQ(mean(), before);
  EXPECT_EQ(model.trainable_weights().size(), 6u);  // and base trains all the same
}

}  // namespace

}  // namespace nyala
