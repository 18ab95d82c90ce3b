#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include <nyala/api/layers/core/input.h>
#include <nyala/api/layers/reshaping/flatten.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/conformance/layers/run_layer_test.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int32_t kFirstInputLeaf = 1 << 20;
constexpr double kStep = 1e-5;

Tensor random_tensor(const Shape& shape, DType dtype, uint64_t seed) {
  DrawStream random(mix_key(seed, "run_layer_test"));
  const Tensor out = Tensor::empty(shape, dtype);
  const auto count = static_cast<size_t>(shape.num_elements());
  for (size_t i = 0; i < count; ++i) {
    const double value = random.uniform(-1.5, 1.5);
    if (dtype == DType::float64)
      out.data<double>()[i] = value;
    else
      out.data<float>()[i] = static_cast<float>(value);
  }
  return out;
}

Tensors random_inputs(const LayerCase& layer_case, DType dtype) {
  Tensors inputs;
  for (const Shape& shape : layer_case.inputs) inputs.push_back(random_tensor(shape, dtype, inputs.size()));
  return inputs;
}

Tensor call_layer(const Layer& layer, Call& call, const Tensors& inputs) {
  if (inputs.size() == 1) return layer(call, inputs[0]);
  return layer(call, Inputs(inputs)).at(0);
}

CallOptions options_for(const LayerCase& layer_case, Tape* tape) {
  CallOptions options;
  options.training = layer_case.training;
  options.tape = tape;
  options.rows = options.global_rows = layer_case.inputs[0][0];
  options.step = Tensor::zeros({}, DType::int64);
  return options;
}

/// Symbolic inputs whose batch is unknown.
Tensors symbolic_inputs(const LayerCase& layer_case) {
  Tensors inputs;
  for (const Shape& shape : layer_case.inputs) inputs.push_back(Input(shape.slice(1, shape.rank())).tensor());
  return inputs;
}

void check_shapes(const LayerCase& layer_case) {
  const Layer layer = layer_case.make("float32");
  const Tensor traced = layer(symbolic_inputs(layer_case));
  EXPECT_TRUE(layer.built());
  const Tensor real = layer(random_inputs(layer_case, DType::float32));
  EXPECT_EQ(traced.dtype(), real.dtype());
  ASSERT_EQ(traced.rank(), real.rank());
  EXPECT_EQ(traced.shape()[0], None);
  EXPECT_EQ(traced.shape().with(0, real.shape()[0]), real.shape());
}

class Gradients final : public GradientSink {
 public:
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t leaf, const Tensor& gradient) override { of[leaf] = gradient.clone(); }
  std::map<int32_t, Tensor> of;
};

/// sum(output * pattern) of a layer, and how it changes with inputs and weights.
class Objective {
 public:
  explicit Objective(const LayerCase& layer_case)
      : layer_case_(layer_case),
        layer_(layer_case.make("float64")),
        inputs_(random_inputs(layer_case, DType::float64)) {
    layer_.node().ensure_built(layer_case.inputs);
    // Zeros and ones as first values would hide mistakes.
    for (const Variable& weight : layer_.weights())
      for (double& value : weight.value().data<double>())
        value += 0.3 * std::cos(17.0 * static_cast<double>(++seed_)) + 0.35;
  }

  double value() {
    Call call(options_for(layer_case_, nullptr));
    const Tensor output = call_layer(layer_, call, inputs_);
    const Tensor factors = pattern(output.shape());
    double sum = 0;
    for (size_t i = 0; i < output.data<double>().size(); ++i)
      sum += output.data<double>()[i] * factors.data<double>()[i];
    return sum;
  }

  void check() {
    Tape tape;
    Tensors watched;
    for (const Tensor& input : inputs_)
      watched.push_back(tape.watch(input, kFirstInputLeaf + static_cast<int32_t>(watched.size())));
    Call call(options_for(layer_case_, &tape));
    const Tensor output = call_layer(layer_, call, watched);
    Gradients gradients;
    backward(tape, output, gradients, pattern(output.shape()));
    for (size_t i = 0; i < inputs_.size(); ++i)
      check_one(inputs_[i], gradients.of.at(kFirstInputLeaf + static_cast<int32_t>(i)),
                "input " + std::to_string(i));
    for (const Variable& weight : layer_.trainable_weights())
      check_one(weight.value(), gradients.of.at(weight.node().leaf), weight.name());
  }

 private:
  static Tensor pattern(const Shape& shape) { return random_tensor(shape, DType::float64, 99); }

  void check_one(const Tensor& place, const Tensor& gradient, const std::string& what) {
    ASSERT_EQ(gradient.shape(), place.shape()) << what;
    const auto values = place.data<double>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double old = values[i];
      values[i] = old + kStep;
      const double above = value();
      values[i] = old - kStep;
      const double below = value();
      values[i] = old;
      const double difference = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient.data<double>()[i], difference, 1e-7 + 1e-7 * std::abs(difference))
          << what << " " << i;
    }
  }

  const LayerCase& layer_case_;
  Layer layer_;
  Tensors inputs_;
  uint64_t seed_ = 0;
};

/// The layer between inputs and a flat output.
Model model_around(const LayerCase& layer_case, const Layer& layer) {
  const Tensors inputs = symbolic_inputs(layer_case);
  return Model({.inputs = inputs, .outputs = {Flatten()(layer(inputs))}});
}

bool same_bytes(const Tensor& a, const Tensor& b) { return a.to_vector<float>() == b.to_vector<float>(); }

void check_training_step(const LayerCase& layer_case) {
  const Layer layer = layer_case.make("float32");
  const Model model = model_around(layer_case, layer);
  model.compile({.optimizer = SGD({.learning_rate = 0.5}), .loss = "mse"});
  const Tensors inputs = random_inputs(layer_case, DType::float32);
  const Tensors before = layer.get_weights();
  const Tensor prediction = model.predict_all(inputs, {.verbose = 0}).at(0);
  const Tensor target = random_tensor(prediction.shape(), DType::float32, 5);
  const Logs logs = model.train_on_batch(Batch{inputs, {target}, {}});
  EXPECT_TRUE(std::isfinite(logs["loss"]));
  const Tensors after = layer.get_weights();
  const size_t trainable = layer.trainable_weights().size();
  for (size_t i = 0; i < after.size(); ++i) {
    for (float value : after[i].to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
    EXPECT_FALSE(same_bytes(before[i], after[i]))
        << layer.weights()[i].name() << (i < trainable ? "" : " (state)");
  }
}

void check_saving(const LayerCase& layer_case) {
  const Layer layer = layer_case.make("float32");
  const Model model = model_around(layer_case, layer);
  for (const Variable& weight : layer.weights())
    for (float& value : weight.value().data<float>()) value += 0.25f;
  const Tensors inputs = random_inputs(layer_case, DType::float32);
  const Tensor expected = model.predict_all(inputs, {.verbose = 0}).at(0);
  const auto path = std::filesystem::temp_directory_path() /
                    ("run_layer_test_" + std::to_string(::getpid()) + ".weights.h5");
  model.save_weights(path.string());
  const Model other = model_around(layer_case, layer_case.make("float32"));
  other.load_weights(path.string());
  std::filesystem::remove(path);
  EXPECT_TRUE(same_bytes(other.predict_all(inputs, {.verbose = 0}).at(0), expected));
}

}  // namespace

void run_layer_test(const LayerCase& layer_case) {
  {
    SCOPED_TRACE("shapes");
    check_shapes(layer_case);
  }
  {
    SCOPED_TRACE("gradients");
    Objective(layer_case).check();
  }
  {
    SCOPED_TRACE("training step");
    check_training_step(layer_case);
  }
  {
    SCOPED_TRACE("saving");
    check_saving(layer_case);
  }
}

}  // namespace nyala
