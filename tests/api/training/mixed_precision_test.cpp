// Training and files under dtype policies.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::mixed_precision_test {
namespace {

using ::testing::HasSubstr;

class MixedPrecision : public testing::Test {
 protected:
  MixedPrecision() { set_dtype_policy("mixed_bfloat16"); }
  ~MixedPrecision() override { set_dtype_policy("float32"); }
};

Tensor numbers(const Shape& shape, uint64_t key) { return ops::random_normal(shape, 0.0, 1.0, {.key = key}); }

Sequential small() { return Sequential({Input({4}), Dense(8, {.activation = "relu"}), Dense(2)}); }

TEST_F(MixedPrecision, OptimizersChangeFloat32Weights) {
  // Each step is far below bfloat16's last place of 1, but together they count.
  const Sequential model({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
  model.compile({.optimizer = SGD({.learning_rate = 1e-4}), .loss = "mse"});
  for (int step = 0; step < 10; ++step) model.train_on_batch(Tensor({{1.0}}), Tensor({{0.0}}));
  const Tensor kernel = model.weights()[0].value();
  EXPECT_EQ(kernel.dtype(), DType::float32);
  EXPECT_NEAR(kernel.to_vector<float>()[0], 1.0 - 10 * 2e-4, 1e-5);
}

TEST_F(MixedPrecision, LossesMetricsAndRegularizersSeeFloat32) {
  std::vector<DType> seen;
  const auto note = [&seen](const Tensor& y_true, const Tensor& y_pred) {
    seen.push_back(y_true.dtype());
    seen.push_back(y_pred.dtype());
    return ops::mean(ops::square(y_true - y_pred), {-1});
  };
  const Sequential model({Input({4}), Dense(2, {.kernel_regularizer = L2(0.1)})});
  model.compile({.optimizer = "sgd", .loss = Loss(note), .metrics = {Metric(note, "noted"), "mae"}});
  const Tensor x = numbers({8, 4}, 1), y = numbers({8, 2}, 2);
  const History history = model.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0});
  model.evaluate(x, y, {.verbose = 0});
  ASSERT_FALSE(seen.empty());
  for (const DType dtype : seen) EXPECT_EQ(dtype, DType::float32);
  EXPECT_TRUE(std::isfinite(history["loss"].back()));
  for (const Tensor& penalty : model.losses()) EXPECT_EQ(penalty.dtype(), DType::float32);
  // Built-in losses and metrics of bfloat16 predictions are those of their float32 values.
  const Tensor predicted = model.predict(x, {.verbose = 0});
  ASSERT_EQ(predicted.dtype(), DType::bfloat16);
  for (const char* name : {"mse", "mae", "huber", "log_cosh", "cosine_similarity", "kl_divergence"}) {
    const Tensor half = Loss(name)(y, predicted);
    EXPECT_EQ(half.dtype(), DType::float32) << name;
    EXPECT_EQ(half.item(), Loss(name)(y, ops::cast(predicted, DType::float32)).item()) << name;
  }
  const Metric metric("mae");
  metric.update_state(y, predicted);
  const Metric wide("mae");
  wide.update_state(y, ops::cast(predicted, DType::float32));
  EXPECT_EQ(metric.result(), wide.result());
}

/// Adds a loss and a metric of what it was given.
struct Adds : LayerNode {
  std::string class_name() const override { return "Adds"; }
  Tensor call(Call& c, const Tensor& x) const override {
    c.add_loss(ops::mean(x) * 0.0 + 1.0);
    c.add_metric("added", ops::mean(x));
    return x;
  }
};

TEST_F(MixedPrecision, AddedLossesAreFloat32) {
  const Sequential model({Input({4}), Dense(2, {.activity_regularizer = L2(0.01)}), make_layer<Adds>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = numbers({6, 4}, 1);
  const Logs logs = model.train_on_batch(x, Tensor::zeros({6, 2}));
  EXPECT_GT(logs.at("loss"), 1.0);
  EXPECT_TRUE(std::isfinite(logs.at("added")));
}

TEST_F(MixedPrecision, FoldedAndFusedModelsPredictWhatLayersDo) {
  for (const char* policy : {"mixed_bfloat16", "float32"}) {
    const Sequential model({Input({8, 8, 3}), ZeroPadding2D(1), Conv2D(4, 3, {.use_bias = false}),
                            BatchNormalization({.dtype = policy}), ReLU(), DepthwiseConv2D(3),
                            BatchNormalization(), Activation("relu", {.dtype = policy}), Flatten(),
                            Dense(3)});
    model.compile({.optimizer = SGD({.learning_rate = 0.05}), .loss = "mse"});
    const Tensor x = numbers({4, 8, 8, 3}, 3), y = numbers({4, 3}, 4);
    for (int step = 0; step < 3; ++step) model.train_on_batch(x, y);
    const auto predicted = [&](bool fold) {
      const Tensor out = model.predict(x, {.verbose = 0, .fold_batch_normalization = fold});
      EXPECT_EQ(out.dtype(), DType::bfloat16);
      return ops::cast(out, DType::float32).to_vector<float>();
    };
    const std::vector<float> folded = predicted(true), plain = predicted(false);
    float largest = 0;
    for (const float value : plain) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(folded[i], plain[i], 0.03f * largest) << policy;
  }
}

TEST_F(MixedPrecision, LearnsAsFloat32Does) {
  const auto loss_after = [](const char* policy) {
    set_dtype_policy(policy);
    set_random_seed(7);
    const Sequential model = small();
    model.compile({.optimizer = Adam({.learning_rate = 0.02}), .loss = "mse"});
    const Tensor x = numbers({64, 4}, 1);
    const Tensor y = ops::concatenate({ops::sum(x, {1}, true), ops::max(x, {1}, true)}, 1);
    return model.fit(x, y, {.batch_size = 16, .epochs = 20, .verbose = 0})["loss"];
  };
  const std::vector<double> mixed = loss_after("mixed_bfloat16"), whole = loss_after("float32");
  EXPECT_NEAR(mixed.front(), whole.front(), 0.02 * whole.front());
  EXPECT_NEAR(mixed.back(), whole.back(), 0.15 * whole.front());
  EXPECT_LT(mixed.back(), 0.3 * mixed.front());
}

TEST_F(MixedPrecision, OnlyMixedFloat16ScalesLosses) {
  const auto class_of = [](const char* policy, const CompileConfig& config) {
    set_dtype_policy(policy);
    const Sequential model = small();
    model.compile(config);
    model.fit(numbers({8, 4}, 1), numbers({8, 2}, 2), {.verbose = 0});
    return model.optimizer().node().class_name();
  };
  EXPECT_EQ(class_of("mixed_float16", {.optimizer = "adam", .loss = "mse"}), "LossScaleOptimizer");
  EXPECT_EQ(class_of("mixed_float16", {.optimizer = "adam", .loss = "mse", .auto_scale_loss = false}),
            "Adam");
  EXPECT_EQ(class_of("mixed_bfloat16", {.optimizer = "adam", .loss = "mse"}), "Adam");
  EXPECT_EQ(class_of("float32", {.optimizer = "adam", .loss = "mse"}), "Adam");
  EXPECT_EQ(class_of("mixed_float16",
                     {.optimizer = LossScaleOptimizer(SGD(), {.initial_scale = 8.0}), .loss = "mse"}),
            "LossScaleOptimizer");
}

TEST_F(MixedPrecision, GradientsTooSmallForFloat16SurviveByTheScale) {
  set_dtype_policy("mixed_float16");
  const auto moved = [](bool scales) {
    const Sequential model({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
    model.compile({.optimizer = SGD({.learning_rate = 1e6}), .loss = "mse", .auto_scale_loss = scales});
    // The gradient of the output is 2 * 2^-12 * 1e-5, below float16's smallest number.
    const Tensor x({{1.0}});
    model.fit(x, Tensor({{1.0 - 1.0 / 4096}}), {.verbose = 0, .sample_weight = Tensor({1e-5})});
    return model.weights()[0].value().to_vector<float>()[0] != 1.0f;
  };
  EXPECT_TRUE(moved(true));
  EXPECT_FALSE(moved(false));
}

/// Tapes whose gradients are recorded themselves compute those of weights in float32, too.
TEST_F(MixedPrecision, GradientsOfWeightsAreFloat32OnEveryTape) {
  for (const std::string policy : {"mixed_bfloat16", "mixed_float16"}) {
    set_dtype_policy(policy);
    const Sequential model({Input({6}), Dense(20, {.activation = "tanh"}), LayerNormalization(), Dense(3)});
    const Tensor x = numbers({32, 6}, 1);
    const auto gradients = [&](bool persistent) {
      GradientTape tape({.persistent = persistent});
      return tape.gradient(ops::sum(ops::square(ops::cast(model(x), "float32"))),
                           model.trainable_variables());
    };
    const auto plain = gradients(false), recorded = gradients(true);
    for (size_t i = 0; i < plain.size(); ++i) {
      SCOPED_TRACE(policy + " " + model.trainable_variables()[i].path());
      ASSERT_EQ(recorded[i].dtype(), DType::float32);
      const double distance = ops::sqrt(ops::sum(ops::square(recorded[i] - plain[i]))).item(),
                   size = ops::sqrt(ops::sum(ops::square(plain[i]))).item();
      EXPECT_LT(distance, (policy == "mixed_bfloat16" ? 1e-2 : 1e-3) * size);
      const Tensor rounded = ops::cast(ops::cast(recorded[i], policy.substr(6)), "float32");
      EXPECT_NE(rounded.to_vector<float>(), recorded[i].to_vector<float>());
    }
  }
}

/// float16 ends at 65,504; what a gradient of float32 adds up goes on.
TEST_F(MixedPrecision, ARecordedGradientOfAWeightMayExceedFloat16) {
  set_dtype_policy("mixed_float16");
  const Sequential model({Input({1}), Dense(1, {.kernel_initializer = "ones"})});
  const Tensor x = Tensor::full({1000, 1}, 100.0);
  GradientTape tape({.persistent = true});
  const Tensor loss = ops::sum(ops::cast(model(x), "float32"));
  EXPECT_EQ(tape.gradient(loss, model.trainable_variables())[0].item(), 100000.0);
}

/// Does what fit() does, with or without the loss scale.
struct OwnSteps : ModelNode {
  explicit OwnSteps(bool scales) : scales(scales) {}
  bool scales;
  Layer dense = track("dense", Dense(1, {.use_bias = false, .kernel_initializer = "ones"}));
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    GradientTape tape;
    const Tensor loss = step.compute_loss(batch, step.forward(batch.x));
    const Tensor scaled = scales ? step.optimizer().scale_loss(loss) : loss;
    step.track_loss(loss);
    step.apply_gradients(tape.gradient(scaled, step.trainable_variables()));
  }
};

TEST_F(MixedPrecision, AStepOfOnesOwnWithoutTheLossScaleIsTold) {
  set_dtype_policy("mixed_float16");
  for (const bool scales : {true, false}) {
    std::string said;
    set_log_sink([&](LogChannel, std::string_view text) { said += text; });
    const Model model = make_model<OwnSteps>(scales);
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    model.fit(Tensor({{1.0}}), Tensor({{0.0}}), {.epochs = 2, .verbose = 0});
    set_log_sink({});
    EXPECT_EQ(said.find("optimizer.scale_loss(loss)") == std::string::npos, scales) << said;
  }
}

TEST_F(MixedPrecision, OptimizersThatCannotBeWrappedSayHowToGoOn) {
  set_dtype_policy("mixed_float16");
  const Sequential model = small();
  EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                model.compile({.optimizer = SGD({.gradient_accumulation_steps = 2}), .loss = "mse"});
              }),
              HasSubstr(".auto_scale_loss = false"));
}

TEST_F(MixedPrecision, FilesKeepPolicies) {
  const ScratchFolder folder;
  const Tensor words = Input({5}, {.dtype = "int32"});
  Tensor x = Embedding(20, 4)(words);
  x = Bidirectional(LSTM(3, {.return_sequences = true}))(x);
  x = MultiHeadAttention(2, 3)(x, x);
  x = SpatialDropout1D(0.0)(x);
  x = RNN({LSTMCell(3, {.dtype = "float32"}), GRUCell(2)})(x);
  const Model model(words, Dense(2, {.dtype = "float32"})(x));
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor ids = Tensor::ones({3, 5}, DType::int32), y = numbers({3, 2}, 1);
  model.fit(ids, y, {.verbose = 0});
  set_dtype_policy("float32");
  for (const char* name : {"model.keras", "model.h5"}) {
    SCOPED_TRACE(name);
    const std::string path = (folder.path() / name).string();
    model.save(path);
    const Model again = load_model(path);
    for (const Layer& layer : model.layers())
      EXPECT_EQ(again.get_layer(layer.name()).dtype_policy(), layer.dtype_policy()) << layer.name();
    EXPECT_EQ(again.predict(ids, {.verbose = 0}).to_vector<float>(),
              model.predict(ids, {.verbose = 0}).to_vector<float>());
    EXPECT_EQ(again.train_on_batch(ids, y).at("loss"), load_model(path).train_on_batch(ids, y).at("loss"));
  }
  for (const char* name : {"weights.weights.h5", "weights.npz", "weights.safetensors"}) {
    const std::string path = (folder.path() / name).string();
    model.save_weights(path);
    const auto before = model.predict(ids, {.verbose = 0}).to_vector<float>();
    for (const Variable& weight : model.weights()) weight.assign(0.0);
    model.load_weights(path);
    EXPECT_EQ(model.predict(ids, {.verbose = 0}).to_vector<float>(), before) << name;
  }
}

TEST_F(MixedPrecision, ConfigsHoldThePolicyAsKerasWritesIt) {
  EXPECT_THAT(Dense(2).get_config(), HasSubstr(R"("class_name":"DTypePolicy")"));
  EXPECT_THAT(Dense(2).get_config(), HasSubstr(R"("config":{"name":"mixed_bfloat16"})"));
  const auto policy_of = [](const std::string& dtype) {
    return Layer::from_config("Dense", R"({"units": 2, "name": "d")" + dtype + "}").dtype_policy().name();
  };
  EXPECT_EQ(policy_of(R"(, "dtype": "mixed_float16")"), "mixed_float16");
  EXPECT_EQ(policy_of(R"(, "dtype": {"class_name": "Policy", "config": {"name": "mixed_float16"}})"),
            "mixed_float16");
  EXPECT_EQ(policy_of(R"(, "dtype": {"module": "keras", "class_name": "DTypePolicy", "config":
                      {"name": "bfloat16"}, "registered_name": null})"),
            "bfloat16");
  EXPECT_EQ(policy_of(""), "mixed_bfloat16");
  EXPECT_EQ(policy_of(R"(, "dtype": null)"), "mixed_bfloat16");
  EXPECT_THAT(error_text<FileFormatError>([&] { policy_of(R"(, "dtype": "mixed_int8")"); }),
              HasSubstr("unknown dtype policy 'mixed_int8'"));
  EXPECT_THAT(error_text<FileFormatError>([&] {
                policy_of(R"(, "dtype": {"class_name": "DTypePolicyMap", "config": {"policy_map": {}}})");
              }),
              HasSubstr("maps of policies are not built yet"));
}

TEST_F(MixedPrecision, AModelOfMixedFloat16GoesOnWithItsLossScale) {
  const ScratchFolder folder;
  set_dtype_policy("mixed_float16");
  const Tensor input = Input({4});
  const Model functional(input, Dense(2)(Dense(8)(input)));
  for (const Model& model : {functional, Model(small())}) {
    set_dtype_policy("mixed_float16");
    model.compile({.optimizer = "adam", .loss = "mse"});
    const Tensor x = numbers({8, 4}, 1), y = numbers({8, 2}, 2);
    model.fit(x, y, {.verbose = 0});
    const std::string path = (folder.path() / "scaled.keras").string();
    model.save(path);
    set_dtype_policy("float32");
    const Model again = load_model(path);
    EXPECT_EQ(again.dtype_policy().name(), "mixed_float16");
    EXPECT_EQ(again.optimizer().node().class_name(), "LossScaleOptimizer");
    EXPECT_EQ(again.train_on_batch(x, y).at("loss"), model.train_on_batch(x, y).at("loss"));
  }
}

}  // namespace
}  // namespace nyala::mixed_precision_test
