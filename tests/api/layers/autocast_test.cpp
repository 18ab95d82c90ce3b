// What layers get, read and return under dtype policies; what stays float32.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::autocast_test {
namespace {

class Autocast : public testing::Test {
 protected:
  Autocast() { set_dtype_policy("mixed_bfloat16"); }
  ~Autocast() override { set_dtype_policy("float32"); }
};

using Dtypes = std::map<std::string, DType>;

/// Notes in which dtypes it is given what.
struct Notes : LayerNode {
  explicit Notes(Dtypes* dtypes) : seen(dtypes) {}
  Dtypes* seen;
  Variable kernel, fixed, count;
  Variable gain = track("gain", Variable(2.0)), whole = track("whole", Variable(3.0, {.autocast = false}));
  std::string class_name() const override { return "Notes"; }
  void build(Builder& b, const Shapes& inputs) override {
    kernel = b.weight("kernel", {inputs[0].back()}, "ones");
    fixed = b.weight("fixed", {inputs[0].back()}, "ones", {.autocast = false});
    count = b.state("count", {}, "zeros");
  }
  Outputs call(Call& c, Inputs inputs) const override {
    for (size_t i = 0; i < inputs.size(); ++i) (*seen)["input " + std::to_string(i)] = inputs[i].dtype();
    (*seen)["kernel"] = c[kernel].dtype();
    (*seen)["fixed"] = c[fixed].dtype();
    (*seen)["gain"] = c[gain].dtype();
    (*seen)["whole"] = c[whole].dtype();
    (*seen)["count"] = c[count].dtype();
    (*seen)["mask"] = mask_of(inputs[0]).defined() ? mask_of(inputs[0]).dtype() : DType::float64;
    c.assign(count, c[count] + 1.0);
    return {inputs[0] * c[kernel] * 2.0 + 1.0};
  }
};

TEST_F(Autocast, FloatingInputsAndVariablesComeInTheComputeDtype) {
  Dtypes seen;
  const Layer layer = make_layer<Notes>(&seen);
  const Tensor x = with_mask(Tensor::ones({2, 3}), Tensor::ones({2, 3}, DType::bool_));
  const Tensor y = layer({x, Tensor::ones({2}, DType::int32), Tensor::ones({2}, DType::float64)});
  EXPECT_EQ(seen["input 0"], DType::bfloat16);
  EXPECT_EQ(seen["input 1"], DType::int32);
  EXPECT_EQ(seen["input 2"], DType::bfloat16);
  EXPECT_EQ(seen["mask"], DType::bool_);
  EXPECT_EQ(seen["kernel"], DType::bfloat16);
  EXPECT_EQ(seen["gain"], DType::bfloat16);
  EXPECT_EQ(seen["count"], DType::float32);  // state
  EXPECT_EQ(seen["fixed"], DType::float32);
  EXPECT_EQ(seen["whole"], DType::float32);
  EXPECT_EQ(y.dtype(), DType::bfloat16);
  EXPECT_EQ(y.to_vector<bfloat16>()[0].bits, bfloat16(3.0f).bits);
  for (const Variable& weight : layer.weights()) EXPECT_EQ(weight.dtype(), DType::float32) << weight.path();
  EXPECT_EQ(layer.non_trainable_weights()[0].value().item(), 1.0);
}

/// Calls a layer of another policy between two reads of a variable of its own.
struct Outer : LayerNode {
  explicit Outer(const Layer& inside) : inner(track("inner", inside)) {}
  Layer inner;
  Variable gain = track("gain", Variable(2.0));
  mutable std::vector<DType> seen;
  std::string class_name() const override { return "Outer"; }
  void build(Builder& b, const Shape& input) override { b.build(inner, input); }
  Tensor call(Call& c, const Tensor& x) const override {
    seen.push_back(c[gain].dtype());
    const Tensor y = inner(c, x);
    seen.push_back(y.dtype());
    seen.push_back(c[gain].dtype());
    return y;
  }
};

TEST_F(Autocast, EachLayerHasAScopeOfItsOwn) {
  for (const char* policy : {"float32", "float64", "mixed_bfloat16"}) {
    const DType inside = DTypePolicy(policy).compute_dtype();
    const Layer outer = make_layer<Outer>(Dense(2, {.dtype = policy}));
    outer(Tensor::ones({1, 3}));
    const auto& seen = dynamic_cast<Outer&>(outer.node()).seen;
    ASSERT_GE(seen.size(), 3u);
    EXPECT_EQ(seen[0], DType::bfloat16);
    EXPECT_EQ(seen[1], inside);
    EXPECT_EQ(seen[2], DType::bfloat16);
  }
  set_dtype_policy("float32");
  const Layer outer = make_layer<Outer>(Dense(2, {.dtype = "mixed_bfloat16"}));
  outer(Tensor::ones({1, 3}));
  EXPECT_EQ(dynamic_cast<Outer&>(outer.node()).seen[2], DType::float32);
}

TEST_F(Autocast, SublayersHaveThePolicyOfTheirLayer) {
  const LSTM lstm(3, {.dtype = "float32"});
  const MultiHeadAttention attention(2, 4);
  const Bidirectional both(GRU(3, {.dtype = "bfloat16"}));
  set_dtype_policy("float64");  // they are built under another one than they were made under
  lstm(Tensor::ones({1, 2, 3}));
  attention(Tensor::ones({1, 2, 3}), Tensor::ones({1, 2, 3}));
  EXPECT_EQ(lstm.node().sublayers()[0].second.dtype_policy().name(), "float32");
  for (const auto& [attribute, dense] : attention.node().sublayers())
    EXPECT_EQ(dense.dtype_policy().name(), "mixed_bfloat16") << attribute;
  for (const auto& [attribute, layer] : both.node().sublayers()) {
    EXPECT_EQ(layer.dtype_policy().name(), "bfloat16") << attribute;
    EXPECT_EQ(layer.node().sublayers()[0].second.dtype_policy().name(), "bfloat16") << attribute;
  }
}

TEST_F(Autocast, AModelConvertsDataToItsInputsAndLeavesTheRestToLayers) {
  const Tensor x = Input({3});
  const Tensor whole = Dense(2, {.dtype = "float32"})(x);
  const Tensor y = Dense(2)(whole);
  const Model model(x, {whole, y});
  EXPECT_EQ(whole.dtype(), DType::float32);
  EXPECT_EQ(y.dtype(), DType::bfloat16);
  const Tensors outputs = model.predict_all({Tensor::ones({2, 3}, DType::float64)}, {.verbose = 0});
  EXPECT_EQ(outputs[0].dtype(), DType::float32);
  EXPECT_EQ(outputs[1].dtype(), DType::bfloat16);
  // Not rounded on its way to the layer that computes in float32.
  const Model one(x, whole);
  const double fine = 1.0 + 1.0 / 4096;
  const Tensor weights({{1.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}});
  one.set_weights({weights, Tensor::zeros({2})});
  EXPECT_EQ(one.predict(Tensor::full({1, 3}, fine), {.verbose = 0}).to_vector<float>()[0], fine);
}

TEST_F(Autocast, IdsAreNotRounded) {
  const Sequential model({Embedding(2000, 1)});
  const Tensor ids({{257.0, 1999.0}});
  model.build({None, 2});
  std::vector<float> table(2000);
  for (size_t i = 0; i < table.size(); ++i) table[i] = i == 257 ? 5.0f : i == 1999 ? 7.0f : 0.0f;
  model.set_weights({Tensor::from(table, {2000, 1})});
  for (const DType dtype : {DType::float32, DType::int32, DType::int64}) {
    const Tensor y = model.predict(ops::cast(ids, dtype), {.verbose = 0});
    EXPECT_EQ(y.dtype(), DType::bfloat16);
    EXPECT_THAT(ops::cast(y, DType::float32).to_vector<float>(), testing::ElementsAre(5.0f, 7.0f));
  }
}

TEST_F(Autocast, NormalizationsComputeInFloat32) {
  // 1000 and 1000.5 are one number in bfloat16.
  const Tensor x({{1000.0, 1000.5, 999.5, 1000.0}, {1000.5, 1000.0, 1000.0, 999.5}});
  for (const Layer& layer : {Layer(LayerNormalization()), Layer(GroupNormalization(1))}) {
    const Tensor y = layer(x);
    EXPECT_EQ(y.dtype(), DType::bfloat16);
    EXPECT_NEAR(ops::cast(y, DType::float32).to_vector<float>()[1], 1.4086, 0.004) << layer.class_name();
    for (const Variable& weight : layer.weights()) EXPECT_EQ(weight.dtype(), DType::float32);
  }
  // BatchNormalization is given rounded values, but its statistics are not rounded: the mean of 1
  // and 1.0078125 is no bfloat16.
  const BatchNormalization layer({.momentum = 0.0});
  const Sequential model({Input({1}), layer});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.train_on_batch(Tensor({{1.0}, {1.0078125}}), Tensor::zeros({2, 1}));
  EXPECT_EQ(layer.node().own_state()[0].value().to_vector<float>()[0], 1.00390625f);
  EXPECT_EQ(model.predict(Tensor::ones({1, 1}), {.verbose = 0}).dtype(), DType::bfloat16);
}

TEST_F(Autocast, EveryLayerReturnsTheComputeDtype) {
  const Tensor image = Tensor::ones({2, 8, 8, 4}), sequence = Tensor::ones({2, 8, 4}),
               row = Tensor::ones({2, 4});
  const std::vector<std::pair<Layer, Tensor>> cases = {
      {Conv2D(3, 3), image},
      {Conv1D(3, 3), sequence},
      {SeparableConv2D(3, 3), image},
      {DepthwiseConv2D(3), image},
      {Conv2DTranspose(3, 3), image},
      {BatchNormalization(), image},
      {LayerNormalization(), image},
      {GroupNormalization(2), image},
      {RMSNormalization(), row},
      {UnitNormalization(), row},
      {MaxPooling2D(), image},
      {AveragePooling2D(2), image},
      {GlobalAveragePooling2D(), image},
      {GlobalMaxPooling1D(), sequence},
      {Dense(3), row},
      {EinsumDense("ab,bc->ac", {3}), row},
      {Flatten(), image},
      {Reshape({4, 16, 4}), image},
      {ZeroPadding2D(1), image},
      {UpSampling2D(2), image},
      {Cropping2D(1), image},
      {Permute({2, 1}), sequence},
      {Dropout(0.5), row},
      {ReLU(), row},
      {Softmax(), row},
      {LeakyReLU(), row},
      {PReLU(), row},
      {ELU(), row},
      {Activation("gelu"), row},
      {LSTM(3), sequence},
      {GRU(3), sequence},
      {SimpleRNN(3), sequence},
      {ConvLSTM2D(3, 3), Tensor::ones({2, 3, 8, 8, 2})},
      {Bidirectional(LSTM(3)), sequence},
      {TimeDistributed(Dense(3)), sequence},
      {RNN({LSTMCell(3), GRUCell(2)}), sequence},
      {Rescaling(1 / 255.0), Tensor::ones({2, 4, 4, 3}, DType::uint8)},
      {Masking(), sequence},
      {GaussianNoise(0.1), row},
      {RandomFlip(), image},
      {Resizing(4, 4), image},
      {RepeatVector(2), row}};
  for (const auto& [layer, x] : cases) {
    EXPECT_EQ(layer(x).dtype(), DType::bfloat16) << layer.class_name();
    EXPECT_EQ(layer(Input({.shape = x.shape().slice(1, x.rank()), .dtype = std::string(name_of(x.dtype()))}))
                  .dtype(),
              DType::bfloat16)
        << layer.class_name() << " on a symbolic tensor";
    for (const Variable& weight : layer.weights()) EXPECT_EQ(weight.dtype(), DType::float32) << weight.path();
  }
}

TEST_F(Autocast, StackedCellsMayDiffer) {
  const RNN layer({LSTMCell(3, {.dtype = "float32"}), GRUCell(2), SimpleRNNCell(2, {.dtype = "float64"})},
                  {.return_sequences = true});
  EXPECT_EQ(layer(Tensor::ones({2, 4, 3})).dtype(), DType::bfloat16);
  const LSTM stateful(3, {.stateful = true});
  stateful(Tensor::ones({2, 4, 3}));
  for (const Variable& state : stateful.hidden_state()) {
    EXPECT_EQ(state.dtype(), DType::float32);
    EXPECT_NE(ops::cast(state.value(), DType::float32).to_vector<float>()[0], 0.0f);
  }
}

TEST_F(Autocast, HiddenScoresOfFloat16AreNumbers) {
  const Tensor x = Tensor::ones({1, 3, 4});
  const Tensor mask = Tensor::zeros({1, 3, 3}, DType::bool_);
  const MultiHeadAttention attention(2, 4, {.dropout = 0.5, .dtype = "mixed_float16"});
  const Tensor y = attention(x, x, {.attention_mask = mask});
  for (const float value : ops::cast(y, DType::float32).to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace nyala::autocast_test
