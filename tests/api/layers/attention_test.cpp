#include <gmock/gmock.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

Tensor numbers(const Shape& shape, uint64_t seed = 1) {
  DrawStream random(seed);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return Tensor::from(values, shape);
}

std::vector<std::string> paths_of(const Layer& layer) {
  std::vector<std::string> paths;
  for (const Variable& weight : layer.weights()) paths.push_back(weight.path());
  return paths;
}

TEST(EinsumDenseLayer, ShapesOfItsWeights) {
  const auto shapes = [](const std::string& equation, const std::vector<int64_t>& out,
                         const std::string& bias, const Shape& input) {
    const EinsumDense layer(equation, out, {.bias_axes = bias});
    layer(Tensor::zeros(input));
    std::vector<std::string> text;
    for (const Variable& weight : layer.weights()) text.push_back(weight.shape().to_string());
    return text;
  };
  EXPECT_THAT(shapes("abc,cd->abd", {None, 64}, "d", {2, 32, 128}), ElementsAre("(128, 64)", "(64,)"));
  EXPECT_THAT(shapes("...x,xy->...y", {64}, "y", {2, 32, 128}), ElementsAre("(128, 64)", "(64,)"));
  EXPECT_THAT(shapes("abcd,bde->aeb", {4, 3}, "e", {2, 3, 2, 5}), ElementsAre("(3, 5, 4)", "(4, 1)"));
  EXPECT_THAT(shapes("ab...,bc->ac...", {3}, "c", {2, 4, 6}), ElementsAre("(4, 3)", "(3, 1)"));
}

TEST(EinsumDenseLayer, RefusesWhatDoesNotFit) {
  const auto message = [](const std::string& equation, const std::vector<int64_t>& out,
                          const std::string& bias, const std::string& part) {
    EXPECT_THAT(([&] {
                  EinsumDense(equation, out, {.bias_axes = bias})(Tensor::zeros({2, 3, 4}));
                }),
                ThrowsMessage<InvalidArgumentError>(HasSubstr(part)))
        << equation;
  };
  message("abc,cd", {5}, "", "like 'ab,bc->ac'");
  message("...abc,cd->abd", {5}, "", "like 'ab,bc->ac'");
  message("abc,cd->abd", {}, "", "output_shape");
  message("abc,cd->abd", {5}, "", "output_shape of 2 sizes");
  message("ab,bd->ad", {5}, "", "2 axes 'ab'");
  message("abc,cd->abd", {7, 5}, "", "'b'");
  message("abc,cd->abd", {None, 5}, "e", "'e'");
  message("abc,cde->abd", {None, 5}, "", "'e'");
}

TEST(MultiHeadAttentionLayer, WeightsHaveKerasPaths) {
  clear_session();
  const MultiHeadAttention mha(2, 3);
  mha(numbers({2, 4, 5}), numbers({2, 6, 7}));
  EXPECT_THAT(paths_of(mha),
              ElementsAre("multi_head_attention/query/kernel", "multi_head_attention/query/bias",
                          "multi_head_attention/key/kernel", "multi_head_attention/key/bias",
                          "multi_head_attention/value/kernel", "multi_head_attention/value/bias",
                          "multi_head_attention/attention_output/kernel",
                          "multi_head_attention/attention_output/bias"));
  EXPECT_EQ(mha.weights()[2].shape(), (Shape{7, 2, 3}));
  EXPECT_EQ(mha.weights()[6].shape(), (Shape{2, 3, 5}));
}

TEST(MultiHeadAttentionLayer, ScoresAndBothWaysToComputeAgree) {
  const MultiHeadAttention mha(2, 3, {.value_dim = 4});
  const Tensor query = numbers({2, 4, 5}), value = numbers({2, 6, 7}, 2), key = numbers({2, 6, 3}, 3);
  const Tensor y = mha(query, value, {.key = key});
  const Tensors both = mha.call_all(query, value, {.key = key, .return_attention_scores = true});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1].shape(), (Shape{2, 2, 4, 6}));
  const auto one = y.to_vector<float>(), other = both[0].to_vector<float>();
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-5);
  const auto sums = ops::sum(both[1], {-1}).to_vector<float>();
  for (const float sum : sums) EXPECT_NEAR(sum, 1.0f, 1e-6);
  EXPECT_THROW(mha(query, value, {.key = key, .return_attention_scores = true}), StateError);
}

TEST(MultiHeadAttentionLayer, ACausalQuerySeesNothingBehindIt) {
  const MultiHeadAttention mha(2, 3);
  const Tensor x = numbers({1, 5, 4});
  const Tensors seen = mha.call_all(x, x, {.return_attention_scores = true, .use_causal_mask = true});
  const auto scores = seen[1].to_vector<float>();
  for (size_t t = 0; t < 5; ++t)
    for (size_t s = 0; s < 5; ++s) EXPECT_EQ(scores[t * 5 + s] == 0.0f, s > t) << t << " " << s;
  const auto one = mha(x, x, {.use_causal_mask = true}).to_vector<float>(),
             other = seen[0].to_vector<float>();
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-5);
}

TEST(MultiHeadAttentionLayer, MasksTravelWithTheirTensors) {
  const MultiHeadAttention mha(1, 3);
  const Tensor query = numbers({1, 3, 4}), value = numbers({1, 4, 4}, 2);
  const Tensor shown = ops::cast(Tensor::from(std::vector<float>{1, 1, 0, 1}, {1, 4}), DType::bool_);
  const Tensors seen = mha.call_all(query, given_mask(value, shown), {.return_attention_scores = true});
  const auto scores = seen[1].to_vector<float>();
  for (size_t t = 0; t < 3; ++t) EXPECT_EQ(scores[t * 4 + 2], 0.0f);
  const Tensor mask = Tensor::from(std::vector<int32_t>{1, 1, 0, 1}, {1, 1, 4});
  const auto one = mha(query, value, {.attention_mask = mask}).to_vector<float>(),
             other = mha(query, given_mask(value, shown)).to_vector<float>();
  EXPECT_EQ(one, other);
  const Tensor rows = ops::cast(Tensor::from(std::vector<float>{1, 0, 1}, {1, 3}), DType::bool_);
  EXPECT_TRUE(mask_of(mha(with_mask(query, rows), value)).defined());
  EXPECT_FALSE(mask_of(mha(query, given_mask(value, shown))).defined());
}

TEST(MultiHeadAttentionLayer, DropoutFollowsTheGlobalRow) {
  const MultiHeadAttention mha(2, 3, {.dropout = 0.5, .seed = 1});
  const Tensor x = numbers({4, 3, 4});
  mha(x, x);
  const auto run = [&](int64_t first, int64_t rows) {
    Call c({.training = true, .first_row = first, .rows = rows, .step = Tensor::scalar(int64_t{3})});
    const Tensor part = x.rows(first, rows);
    return mha(c, part, part).to_vector<float>();
  };
  auto parts = run(0, 1);
  for (const float value : run(1, 3)) parts.push_back(value);
  EXPECT_EQ(parts, run(0, 4));
  EXPECT_NE(run(0, 4), mha(x, x).to_vector<float>());
}

TEST(MultiHeadAttentionLayer, RefusesWhatDoesNotFit) {
  const Tensor x = numbers({2, 4, 5});
  EXPECT_THROW(MultiHeadAttention(0, 3), InvalidArgumentError);
  EXPECT_THROW(MultiHeadAttention(2, 0), InvalidArgumentError);
  EXPECT_THROW(MultiHeadAttention(2, 3, {.dropout = 1.5}), InvalidArgumentError);
  EXPECT_THROW(MultiHeadAttention(2, 3, {.sliding_window = -1}), InvalidArgumentError);
  EXPECT_THAT([&] { MultiHeadAttention(2, 3).call_all({x}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("query and a value")));
  EXPECT_THROW(MultiHeadAttention(2, 3)(x, numbers({2, 5})), ShapeError);
  EXPECT_THROW(MultiHeadAttention(2, 3)(x, x, {.key = numbers({2, 5, 5})}), ShapeError);
  EXPECT_THROW(MultiHeadAttention(2, 3, {.attention_axes = {2}})(x, x), ShapeError);
  const Tensor shown = ops::cast(Tensor::full({2, 4}, 1.0), DType::bool_);
  EXPECT_THAT([&] { MultiHeadAttention(2, 3)(given_mask(x, shown), x); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("attention_mask")));
  EXPECT_THROW(GroupQueryAttention(2, 3, 2), InvalidArgumentError);
  EXPECT_THROW(Attention({.score_mode = "general"}), InvalidArgumentError);
  EXPECT_THROW(Attention()({x, numbers({2, 3, 4})}), ShapeError);
  EXPECT_THROW(Attention()(x), InvalidArgumentError);
}

TEST(MultiHeadAttentionLayer, NoRows) {
  EXPECT_EQ(MultiHeadAttention(2, 3)(numbers({0, 4, 5}), numbers({0, 6, 5})).shape(), (Shape{0, 4, 5}));
  EXPECT_EQ(Attention()({numbers({0, 4, 5}), numbers({0, 6, 5})}).shape(), (Shape{0, 4, 5}));
}

/// The same numbers from the model and from what its JSON makes of it.
void expect_same_from_json(const Model& model, const Tensors& x) {
  const Model again = model_from_json(model.to_json());
  again.set_weights(model.get_weights());
  const Tensors one = model.predict_all(x, {.verbose = 0}), other = again.predict_all(x, {.verbose = 0});
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(one[i].to_vector<float>(), other[i].to_vector<float>()) << i;
}

TEST(AttentionGraph, ArgumentsOfCallsAreSaved) {
  const Input x({4, 6}), mask({4, 4}), words({4}, {.dtype = "int32"});
  const Tensor embedded = Embedding(5, 6, {.mask_zero = true})(words);
  const MultiHeadAttention mha(2, 3);
  const Tensors scored = mha.call_all(x, x, {.attention_mask = mask, .return_attention_scores = true});
  const Model model(
      {.inputs = {x, mask, words},
       .outputs = {mha(x, x, {.use_causal_mask = true}), scored[0], scored[1],
                   mha(embedded, x, {.key = embedded}), mha(x, given_mask(x, ops::not_equal(words, 0.0))),
                   Attention()({x, embedded}, {.use_causal_mask = true})}});
  const std::string json = model.to_json();
  for (const char* part : {"use_causal_mask", "attention_mask", "return_attention_scores", "value_mask"})
    EXPECT_THAT(json, HasSubstr(part));
  const Tensor shown = ops::cast(ops::greater(numbers({3, 4, 4}, 5), Tensor(0.0f)), DType::float32);
  expect_same_from_json(model,
                        {numbers({3, 4, 6}), shown,
                         Tensor::from(std::vector<int32_t>{1, 2, 0, 0, 3, 0, 4, 1, 1, 1, 1, 1}, {3, 4})});
}

TEST(AttentionGraph, MasksEndAtMultiHeadAttention) {
  const Input words({4}, {.dtype = "int32"});
  const Tensor x = Embedding(5, 6, {.mask_zero = true})(words);
  const Attention attention;
  const LSTM lstm(2);
  const Tensor y = MultiHeadAttention(2, 3)(x, x);
  const Model alone({.inputs = {words}, .outputs = {attention({x, x}), lstm(x)}});
  const Model behind({.inputs = {words}, .outputs = {attention({x, x}), lstm(x), Dense(2)(y)}});
  const Tensors rows = {Tensor::from(std::vector<int32_t>{1, 2, 0, 0}, {1, 4})};
  const Tensors one = alone.predict_all(rows, {.verbose = 0}),
                other = behind.predict_all(rows, {.verbose = 0});
  EXPECT_EQ(one[1].to_vector<float>(), other[1].to_vector<float>())
      << "a mask that was traced as an argument stays";
  EXPECT_EQ(one[0].to_vector<float>().back(), 0.0f);
  EXPECT_NE(other[0].to_vector<float>().back(), 0.0f);
}

TEST(OpNodes, OpsOfOursAreSavedAsOperationsOfKeras) {
  const Input a({4, 3}), b({4, 3});
  const Tensor sum = a + b * 2.0 - 1.0;
  const Model model({.inputs = {a, b},
                     .outputs = {ops::slice_axis(sum, 1, {1, 3}),
                                 ops::strided_slice(sum, {{}, {3, 0, -2}}),
                                 ops::slice(sum, {0, 1, 0}, {-1, 2, 3}),
                                 ops::mean(sum, {-1}, true),
                                 ops::transpose(sum, {0, 2, 1}),
                                 ops::reshape(sum, {None, 6, 2}),
                                 ops::flatten(sum),
                                 ops::einsum("bij,bkj->bik", {a, b}),
                                 ops::matmul(a, b, {true, false}),
                                 ops::concatenate({a, b}, -1),
                                 ops::stack({a, b}, 1),
                                 ops::power(a, 2.0),
                                 ops::where(ops::less(a, b), a, b),
                                 ops::clip(a, -0.5, 0.5),
                                 ops::tile(a, {1, 2, 1}),
                                 ops::pad(a, {{0, 0}, {1, 0}, {0, 2}}, "constant", 3.0),
                                 ops::softmax(a, 1),
                                 ops::gelu(a, false),
                                 ops::leaky_relu(a, 0.1),
                                 ops::var(a, {1}),
                                 ops::cast(ops::argmax(a, 1), DType::float32),
                                 ops::split(a, 2, 1)[1],
                                 a * numbers({4, 1}, 8)}});
  EXPECT_THAT(model.to_json(), HasSubstr("\"GetItem\""));
  expect_same_from_json(model, {numbers({5, 4, 3}), numbers({5, 4, 3}, 2)});
}

TEST(OpNodes, OneOperationOfAFileIsOneNodeAndComesBackAsItWas) {
  const Input x({4, 3});
  const std::string before = Model(x, Dense(2)(ops::mean(x, {1}))).to_json();
  EXPECT_EQ(model_from_json(before).to_json(), before);
}

TEST(OpNodes, UnknownOperationsAreRefusedByNameAndPlace) {
  const Input x({4, 3});
  std::string json = Model(x, ops::mean(x, {1})).to_json();
  for (size_t at = 0; (at = json.find("\"Mean\"", at)) != std::string::npos; at += 2)
    json.replace(at, 6, "\"Kron\"");
  EXPECT_THAT([&] { model_from_json(json); },
              ThrowsMessage<FileFormatError>(testing::AllOf(HasSubstr("'mean"), HasSubstr("Kron"))));
}

/// What is added to all keys does not change a softmax: the true gradient of their bias is zero, and what is
/// computed is rounding, whose sign Lion takes.
TEST(MultiHeadAttentionOnDevices, TrainsAlikeButForTheBiasOfTheKeysUnderLion) {
  configure_logical_devices("cpu", 2);
  std::vector<int32_t> ids, labels;
  for (int row = 0; row < 26; ++row) {
    for (int i = 0; i < 6; ++i) ids.push_back((row * row + 5 * i * row + i) % 12);
    labels.push_back(row * 7 % 3);
  }
  const Tensor x(ids, Shape{26, 6}), y(labels, Shape{26});
  const auto trained = [&](int devices, const Optimizer& optimizer) {
    set_random_seed(5);
    const Model model = mirrored(devices).scope([] {
      const std::string dtype = "float64";
      const Input input({6});
      const Tensor e = Embedding(12, 8, {.dtype = dtype})(input);
      const Tensor a = MultiHeadAttention(2, 4, {.dropout = 0.1, .dtype = dtype})({e, e});
      const Tensor pooled =
          GlobalAveragePooling1D({.dtype = dtype})(LayerNormalization({.dtype = dtype})(e + a));
      return Model(input, Dense(3, {.dtype = dtype})(pooled));
    });
    model.compile({.optimizer = optimizer, .loss = SparseCategoricalCrossentropy({.from_logits = true})});
    model.fit(x, y, {.batch_size = 10, .epochs = 4, .verbose = 0, .shuffle = false});
    return model;
  };
  const auto farthest = [](const Tensor& a, const Tensor& b) { return ops::max(ops::abs(a - b)).item(); };
  for (const bool lion : {false, true}) {
    const auto optimizer = [&] { return lion ? Optimizer(Lion(1e-3)) : Optimizer(SGD(0.1)); };
    const Model one = trained(1, optimizer()), two = trained(2, optimizer());
    for (size_t i = 0; i < one.weights().size(); ++i) {
      const bool zero = one.weights()[i].path().ends_with("key/bias");
      EXPECT_LT(farthest(one.get_weights()[i], two.get_weights()[i]),
                lion && zero ? 2 * 12 * 1e-3 + 1e-9 : 1e-12)
          << one.weights()[i].path();
    }
    EXPECT_LT(farthest(one.predict(x, {.verbose = 0}), two.predict(x, {.verbose = 0})), 1e-12);
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace
}  // namespace nyala
