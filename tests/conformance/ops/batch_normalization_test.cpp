#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;
namespace {

using ops::Activation;
using ops::BatchNormalizationOptions;

OpFunction train(Activation activation, bool gamma = true, bool beta = true) {
  return [=](const Tensors& t) {
    const size_t beta_index = gamma ? 2 : 1;
    return ops::detail::batch_normalization_train(t[0], gamma ? t[1] : Tensor(),
                                                  beta ? t[beta_index] : Tensor(), {.activation = activation})
        .y;
  };
}

Tensors inputs(const Shape& x, bool gamma = true, bool beta = true) {
  Tensors t{random_tensor(x, 1)};
  if (gamma) t.push_back(random_tensor({x.back()}, 2, 0.5, 1.5));
  if (beta) t.push_back(random_tensor({x.back()}, 3));
  return t;
}

Tensor counted(const Shape& shape, int64_t period, double offset) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<double>(i % period) + offset);
  return tensor_of(values, shape);
}

TEST(BatchNormalization, EqualsKeras) {
  const auto result = ops::detail::batch_normalization_train(
      counted({1, 5, 4, 2}, 7, -3), tensor_of({1.5, 1.5}, {2}), tensor_of({-.25, -.25}, {2}));
  expect_close(
      result.y.with_shape({20, 2}).rows(0, 3),
      tensor_of({-2.4274511337, -1.6871294975, -0.9257606863, -0.1334759891, 0.5759297013, 1.4201774597},
                {3, 2}));
  expect_close(result.mean, tensor_of({-0.1, -0.15}, {2}));
  expect_close(result.variance, tensor_of({3.99, 3.7275}, {2}));
}

TEST(BatchNormalization, GradientsAreThoseOfDifferences) {
  for (const Shape& x : {Shape{6, 3}, Shape{2, 3, 2, 2}})
    for (const Activation a : {Activation::linear, Activation::relu}) {
      expect_gradients(train(a), inputs(x), {1e-5, 1e-6});
      expect_gradients(train(a, false, true), inputs(x, false, true), {1e-5, 1e-6});
      expect_gradients(train(a, true, false), inputs(x, true, false), {1e-5, 1e-6});
      expect_gradients(train(a, false, false), inputs(x, false, false), {1e-5, 1e-6});
    }
}

TEST(BatchNormalization, KernelsAgree) {
  for (const Shape& x : {Shape{1, 1}, Shape{7, 3}, Shape{2, 3, 5, 16}, Shape{4, 8, 8, 20}, Shape{3, 9, 7, 64},
                         Shape{130, 33}, Shape{2, 40, 40, 16}})
    for (const Activation a : {Activation::linear, Activation::relu}) {
      expect_kernels_agree(train(a), inputs(x), {1e-4, 2e-5});
      expect_kernels_agree(train(a, false, false), inputs(x, false, false), {1e-4, 2e-5});
    }
}

/// So wide that values lie on all three pieces of relu6.
Tensors wide_inputs(const Shape& x) {
  return {random_tensor(x, 1), random_tensor({x.back()}, 2, 3.0, 6.0),
          random_tensor({x.back()}, 3, 1.0, 5.0)};
}

TEST(BatchNormalization, Relu6) {
  for (const Shape& x : {Shape{6, 3}, Shape{2, 3, 2, 2}})
    expect_gradients(train(Activation::relu6), wide_inputs(x), {1e-5, 1e-6});
  for (const Shape& x : {Shape{7, 3}, Shape{2, 3, 5, 16}, Shape{4, 8, 8, 20}, Shape{3, 9, 7, 64}})
    expect_kernels_agree(train(Activation::relu6), wide_inputs(x), {1e-4, 1e-4});
  const Tensors t = wide_inputs({4, 8, 8, 20});
  expect_close(train(Activation::relu6)(t), ops::relu6(train(Activation::linear)(t)), {1e-5, 1e-5});
  double largest = 0;
  for (const double y : values_of(train(Activation::linear)(t))) largest = std::max(largest, y);
  EXPECT_GT(largest, 6.5);
}

TEST(BatchNormalization, EachKernelAgrees) {
  for (const Shape& x :
       {Shape{1, 1}, Shape{7, 3}, Shape{2, 3, 5, 16}, Shape{4, 8, 8, 20}, Shape{3, 9, 7, 64}, Shape{5, 100}})
    for (const Activation a : {Activation::linear, Activation::relu}) {
      const int64_t c = x.back();
      const ops::BatchNormalizationDescriptor d{1e-3, nullptr, a, true, true};
      const Tensors t = inputs(x);
      const Tensor stats = random_tensor({1 + 2 * c}, 8, 0.5, 1.5), sums = random_tensor({2, c}, 9),
                   g = random_tensor(x, 10);
      expect_kernels_agree([](const Tensors& in) { return ops::batch_moments(in[0]); }, {t[0]});
      expect_kernels_agree(
          [d](const Tensors& in) {
            return dispatch(ops::kBatchNormalizationForward, d, {&in[0], &in[1], &in[2], &in[3]});
          },
          {t[0], stats, t[1], t[2]});
      expect_kernels_agree(
          [d](const Tensors& in) {
            return dispatch(ops::kBatchNormalizationSums, d, {&in[0], &in[1], &in[2], &in[3], &in[4]});
          },
          {g, t[0], stats, t[1], t[2]}, {1e-5, 3e-5});
      expect_kernels_agree(
          [d](const Tensors& in) {
            return dispatch(ops::kBatchNormalizationBackward, d,
                            {&in[0], &in[1], &in[2], &in[3], &in[4], &in[5]});
          },
          {g, t[0], stats, sums, t[1], t[2]}, {1e-5, 1e-5});
    }
}

TEST(BatchNormalization, MomentsOfLargeMeansKeepTheirDigits) {
  Tensor x = random_tensor({4000, 20}, 5, -1, 1);
  for (float& value : x.data<float>()) value += 10000.0f;
  const std::vector<double> values = values_of(x);
  double mean = 0, squares = 0;
  for (size_t i = 3; i < values.size(); i += 20) mean += values[i] / 4000;
  for (size_t i = 3; i < values.size(); i += 20) squares += (values[i] - mean) * (values[i] - mean);
  const std::vector<double> moments = values_of(ops::batch_moments(x));
  EXPECT_EQ(moments[0], 4000.0);
  EXPECT_NEAR(moments[4], mean, 1e-2);
  EXPECT_NEAR(moments[24] / squares, 1.0, 2e-3);
}

TEST(BatchNormalization, MergedMomentsAreThoseOfTheUnion) {
  const Tensor x = random_tensor({10, 3}, 6);
  Tensor stack = Tensor::empty({4, 7});
  const std::vector<std::pair<int64_t, int64_t>> parts = {{0, 4}, {4, 0}, {4, 1}, {5, 5}};
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor moments = ops::batch_moments(x.rows(parts[i].first, parts[i].second));
    stack.rows(static_cast<int64_t>(i), 1).copy_from(moments.with_shape({1, 7}));
  }
  expect_close(ops::merge_moments(stack), ops::batch_moments(x));
}

TEST(BatchNormalization, NoRowsGiveDefinedResults) {
  const auto f = train(Activation::relu);
  const Outcome out = run_with_gradients(f, inputs({0, 3}));
  EXPECT_EQ(out.value.shape(), (Shape{0, 3}));
  expect_close(out.gradients[1], Tensor::zeros({3}));
  expect_close(out.gradients[2], Tensor::zeros({3}));
  const auto result = ops::detail::batch_normalization_train(Tensor::zeros({0, 2, 2, 3}), {}, {});
  expect_close(result.mean, Tensor::zeros({3}));
  expect_close(result.variance, Tensor::zeros({3}));
}

/// Replica `id` of a fixed set whose other members' moments and sums were computed before.
class Scripted final : public Collectives {
 public:
  Scripted(int id, std::vector<Tensors> values) : id_(id), values_(std::move(values)) {}
  int replica_id() const override { return id_; }
  int num_replicas() const override { return static_cast<int>(values_.size()); }
  Tensor all_reduce_sum(const Tensor& value, const char*) override {
    std::vector<double> sum(static_cast<size_t>(value.num_elements()));
    for (int replica = 0; replica < num_replicas(); ++replica) {
      const std::vector<double> part = values_of(member(replica, 1, value));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    return tensor_of(sum, value.shape(), value.dtype());
  }
  Tensor all_gather(const Tensor& value) override {
    Shape shape{num_replicas()};
    for (const int64_t size : value.shape()) shape.append(size);
    std::vector<double> all;
    for (int replica = 0; replica < num_replicas(); ++replica)
      for (const double v : values_of(member(replica, 0, value))) all.push_back(v);
    return tensor_of(all, shape, value.dtype());
  }
  Tensors all_values(const Tensor& value, const char*) override { return {value}; }
  void barrier(std::string_view, const void* contribution,
               const std::function<void(Contributions)>& once) override {
    once(Contributions(&contribution, 1));
  }

 private:
  const Tensor& member(int replica, size_t what, const Tensor& own) const {
    return replica == id_ ? own : values_[static_cast<size_t>(replica)][what];
  }
  int id_;
  std::vector<Tensors> values_;
};

TEST(BatchNormalization, ReplicasTogetherEqualOneDevice) {
  const Tensor x = random_tensor({7, 3}, 1, -2, 2, DType::float64),
               g = random_tensor({7, 3}, 2, -1, 1, DType::float64);
  const Tensor gamma = random_tensor({3}, 3, 0.5, 1.5, DType::float64),
               beta = random_tensor({3}, 4, -1, 1, DType::float64);
  const ops::BatchNormalizationDescriptor d{1e-3, nullptr, Activation::relu, true, true};
  const Tensor whole = ops::batch_moments(x);
  Tensor stack = whole.with_shape({1, 7});
  const Tensor statistics = dispatch(ops::kMergeMoments, ops::MergeMomentsDescriptor{true}, {&stack});
  const Tensor y = ops::detail::batch_normalization_train(x, gamma, beta, {.activation = Activation::relu}).y;
  const Tensor sums = dispatch(ops::kBatchNormalizationSums, d, {&g, &x, &statistics, &gamma, &beta});
  const Tensor dx =
      dispatch(ops::kBatchNormalizationBackward, d, {&g, &x, &statistics, &sums, &gamma, &beta});

  const std::vector<std::pair<int64_t, int64_t>> parts = {{0, 4}, {4, 0}, {4, 3}};
  std::vector<Tensors> values;
  for (const auto& [first, count] : parts) {
    const Tensor rows = x.rows(first, count), dy = g.rows(first, count);
    values.push_back({ops::batch_moments(rows),
                      dispatch(ops::kBatchNormalizationSums, d, {&dy, &rows, &statistics, &gamma, &beta})});
  }
  for (size_t r = 0; r < parts.size(); ++r) {
    Scripted replica(static_cast<int>(r), values);
    Tape tape;
    const Tensor rows = tape.watch(x.rows(parts[r].first, parts[r].second), 0);
    const auto result = ops::detail::batch_normalization_train(
        rows, gamma, beta, {.activation = Activation::relu, .replica = &replica});
    expect_close(result.y.detached(), y.rows(parts[r].first, parts[r].second), {1e-12, 1e-12});
    struct Keep final : GradientSink {
      Tensor destination(int32_t) override { return {}; }
      void ready(int32_t, const Tensor& t) override { gradient = t; }
      Tensor gradient;
    } sink;
    backward(tape, result.y, sink, g.rows(parts[r].first, parts[r].second));
    expect_close(sink.gradient, dx.rows(parts[r].first, parts[r].second), {1e-12, 1e-12});
  }
}

OpFunction apply(const Tensors& statistics, Activation activation) {
  return [=](const Tensors& t) {
    const DType dtype = t[0].dtype();
    const Tensor mean = tensor_of(values_of(statistics[0]), statistics[0].shape(), dtype).to(t[0].device());
    const Tensor variance =
        tensor_of(values_of(statistics[1]), statistics[1].shape(), dtype).to(t[0].device());
    return ops::batch_normalization_apply(t[0], {mean, variance, t[1], t[2]}, {.activation = activation});
  };
}

TEST(BatchNormalization, WithGivenStatistics) {
  for (const Shape& x : {Shape{5, 3}, Shape{2, 3, 3, 16}, Shape{2, 2, 2, 50}})
    for (const Activation a : {Activation::linear, Activation::relu, Activation::relu6}) {
      const Tensors statistics{random_tensor({x.back()}, 7), random_tensor({x.back()}, 8, 0.1, 2)};
      // The statistics are not rounded to what expect_half() computes with.
      expect_kernels_agree(apply(statistics, a), inputs(x),
                           {.relative = 1e-5, .absolute = 5e-5, .half = false});
      if (x.back() == 3) expect_gradients(apply(statistics, a), inputs(x));
    }
}

TEST(BatchNormalization, KnowsItsShapeWithoutValuesAndRefusesWhatDoesNotFit) {
  const auto result =
      ops::detail::batch_normalization_train(Tensor::abstract({None, 4, 4, 3}, DType::float32), {}, {});
  EXPECT_EQ(result.y.shape(), (Shape{None, 4, 4, 3}));
  EXPECT_EQ(result.mean.shape(), (Shape{3}));
  EXPECT_THROW(ops::detail::batch_normalization_train(random_tensor({4, 3}, 1), random_tensor({4}, 1), {}),
               ShapeError);
  EXPECT_THROW(ops::detail::batch_normalization_train(random_tensor({4}, 1), {}, {}), ShapeError);
  EXPECT_THROW(ops::detail::batch_normalization_train(random_tensor({4, 3}, 1), {}, {},
                                                      {.activation = Activation::tanh}),
               InvalidArgumentError);
}

}  // namespace
}  // namespace nyala::testing
