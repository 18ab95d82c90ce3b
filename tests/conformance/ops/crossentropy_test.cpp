#include <gtest/gtest.h>

#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

const std::vector<double> kOutput = {.7, .2, .1, .0, .5, .5, .2, .2, .2, 1, 0, 0};
const std::vector<double> kOneHot = {1, 0, 0, 1, 0, 0, 0, .25, .75, 0, 1, 0};

Tensor output() { return tensor_of(kOutput, {4, 3}); }
Tensor one_hot() { return tensor_of(kOneHot, {4, 3}); }
Tensor labels(DType dtype = DType::int32) { return tensor_of({0, 0, 2, 1}, {4}, dtype); }

OpFunction sparse(const Tensor& target, const ops::SparseCategoricalCrossentropyOptions& o) {
  return [target, o](const Tensors& t) {
    return ops::sparse_categorical_crossentropy(target.to(t[0].device()), t[0], o);
  };
}
OpFunction categorical(const Tensor& target, const ops::CrossentropyOptions& o) {
  return [target, o](const Tensors& t) {
    return ops::categorical_crossentropy(ops::cast(target, t[0].dtype()).to(t[0].device()), t[0], o);
  };
}
OpFunction binary(const Tensor& target, const ops::CrossentropyOptions& o) {
  return [target, o](const Tensors& t) {
    return ops::binary_crossentropy(ops::cast(target, t[0].dtype()).to(t[0].device()), t[0], o);
  };
}

TEST(Crossentropy, EqualsKeras) {
  const Tensors x{output()};
  expect_close(sparse(labels(), {})(x), tensor_of({0.356674969, 16.11809539, 1.098612308, 16.11809539}, {4}));
  expect_close(sparse(labels(), {.from_logits = true})(x),
               tensor_of({0.76794958, 1.45802009, 1.0986123, 1.55144464}, {4}));
  expect_close(sparse(labels(), {.from_logits = true, .ignore = true, .ignore_class = 0})(x),
               tensor_of({0, 0, 1.0986123, 1.55144464}, {4}));
  expect_close(categorical(one_hot(), {})(x),
               tensor_of({0.356674969, 16.11809539, 1.098612308, 16.11809539}, {4}));
  expect_close(categorical(one_hot(), {.label_smoothing = .1})(x),
               tensor_of({0.4632974267, 15.0897655487, 1.0986123085, 15.5808258056}, {4}));
  expect_close(categorical(one_hot(), {.from_logits = true, .label_smoothing = .1})(x),
               tensor_of({0.8046162724, 1.4246867895, 1.0986123085, 1.5181112289}, {4}));
  expect_close(binary(one_hot(), {})(x),
               tensor_of({0.3566749691, 0.2231435477, 0.1053605377, 16.11809539, 0.69314718, 0.69314718,
                          0.22314354, 0.5697171688, 1.2628643512, 15.942384719, 16.11809539, 1.1920929e-07},
                         {4, 3}));
  expect_close(binary(one_hot(), {.from_logits = true})(x),
               tensor_of({0.4031860232, 0.7981388568, 0.7443966865, 0.6931471824, 0.9740769863, 0.9740769863,
                          0.7981388568, 0.7481389045, 0.6481388807, 1.3132617473, 0.6931471824, 0.6931471824},
                         {4, 3}));
}

/// Gradients of the sum of losses.
std::vector<double> gradient_of(const OpFunction& f, const std::vector<double>& pattern_free_rows) {
  const Outcome out = run_with_gradients(f, {output()});
  std::vector<double> g = values_of(out.gradients[0]);
  for (size_t i = 0; i < g.size(); ++i) g[i] /= pattern_free_rows[i / 3];
  return g;
}

TEST(Crossentropy, GradientsEqualKerasWhereProbabilitiesAreClipped) {
  // Each row's gradient in Keras; run_with_gradients weighs rows by its own pattern, taken out again by its
  // own loss.
  const std::vector<double> weights = values_of(random_tensor({4}, 77, -1.0, 1.0));
  const std::vector<double> expected = {-0.42857146, 1,          1,           0, 1, 1,
                                        1.66666675,  1.66666675, -3.33333302, 0, 0, 0};
  const std::vector<double> actual = gradient_of(sparse(labels(), {}), weights);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
  const std::vector<double> expected_categorical = {-0.42857146, 1,          1,           0, 0, 0,
                                                    1.66666675,  0.41666675, -2.08333349, 0, 0, 0};
  const std::vector<double> actual_categorical = gradient_of(categorical(one_hot(), {}), weights);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual_categorical[i], expected_categorical[i], 1e-5) << i;
}

TEST(Crossentropy, GradientsAreThoseOfDifferences) {
  const Tensor inside = random_tensor({4, 3}, 1, 0.1, 0.9);
  for (const bool from_logits : {false, true}) {
    expect_gradients(sparse(labels(), {.from_logits = from_logits}), {inside});
    expect_gradients(
        sparse(labels(DType::float64), {.from_logits = from_logits, .ignore = true, .ignore_class = 2}),
        {inside});
    for (const double smoothing : {0.0, 0.2}) {
      expect_gradients(categorical(one_hot(), {from_logits, smoothing}), {inside});
      expect_gradients(binary(one_hot(), {from_logits, smoothing}), {inside});
    }
  }
}

TEST(Crossentropy, KernelsAgree) {
  for (const Shape& shape :
       {Shape{0, 3}, Shape{1, 1}, Shape{5, 10}, Shape{33, 10}, Shape{4, 3, 7}, Shape{3, 100}, Shape{2, 1000}})
    for (const bool from_logits : {false, true}) {
      const Tensor x = from_logits ? random_tensor(shape, 1, -5, 5) : random_tensor(shape, 1, 0.01, 0.99);
      const Shape rows = shape.slice(0, shape.rank() - 1);
      const Tensor target = ops::floor(random_tensor(shape, 2, 0, 64)) / 64.0;  // 16 bits hold it
      for (const DType dtype : {DType::uint8, DType::int32, DType::int64, DType::float32}) {
        const Tensor label =
            ops::cast(random_tensor(rows, 3, 0, static_cast<double>(shape.back())), DType::int32);
        expect_kernels_agree(sparse(ops::cast(label, dtype), {.from_logits = from_logits}), {x});
        expect_kernels_agree(sparse(ops::cast(label, dtype), {from_logits, true, 1}), {x});
      }
      expect_kernels_agree(categorical(target, {from_logits, 0.1}), {x}, {2e-5, 1e-5});
      expect_kernels_agree(binary(target, {from_logits, 0.1}), {x});
    }
}

TEST(Crossentropy, TakesLabelsWithATrailingAxis) {
  expect_close(sparse(labels().with_shape({4, 1}), {})({output()}), sparse(labels(), {})({output()}));
}

TEST(Crossentropy, KeepsTheFirstLabelOutOfRange) {
  enable_ghost_device();
  for (const Device device : {Device("cpu:0"), Device("ghost:0")})
    for (const double wrong : {3.0, -1.0, 255.0}) {
      StatusWords words;
      const StatusScope reports(words);
      const Tensor target = tensor_of({0, 1, wrong, 77}, {4}).to(device);
      const Tensor loss =
          ops::sparse_categorical_crossentropy(target, output().to(device), {.from_logits = true});
      const std::vector<double> values = values_of(loss);
      EXPECT_FALSE(std::isnan(values[1]));
      EXPECT_TRUE(std::isnan(values[2]));
      const Status status = words.read();
      EXPECT_EQ(status.code, StatusCode::label_out_of_range);
      EXPECT_EQ(status.row, 2);
      EXPECT_EQ(status.value, static_cast<int64_t>(wrong));
      EXPECT_EQ(status.limit, 3);
      EXPECT_THROW(words.check(), NumericError);
      EXPECT_TRUE(words.read().ok());
    }
}

TEST(Crossentropy, ALabelThatIsNaNIsOutOfRange) {
  const Tensor target = tensor_of({0, 1, std::nan(""), 1}, {4});
  EXPECT_THROW(ops::sparse_categorical_crossentropy(target, output()), NumericError);
  StatusWords words;
  const StatusScope reports(words);
  EXPECT_TRUE(std::isnan(values_of(ops::sparse_categorical_crossentropy(target, output()))[2]));
  EXPECT_THROW(words.check(), NumericError);
}

TEST(Crossentropy, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ops::sparse_categorical_crossentropy(tensor_of({0, 1}, {2}, DType::int32), output()),
               ShapeError);
  EXPECT_THROW(ops::categorical_crossentropy(tensor_of({0, 1}, {2}), output()), ShapeError);
  EXPECT_THROW(ops::binary_crossentropy(labels(), output()), ShapeError);
  EXPECT_THROW(ops::sparse_categorical_crossentropy(labels(), labels()), ShapeError);
  const Tensor abstract = Tensor::abstract({None, 3}, DType::float32);
  EXPECT_EQ(ops::sparse_categorical_crossentropy(Tensor::abstract({None}, DType::int32), abstract).shape(),
            (Shape{None}));
}

}  // namespace
}  // namespace nyala::testing
