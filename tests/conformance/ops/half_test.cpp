// What holds for 16-bit floats beyond what expect_half() asks of each op: sums, promotion, writing in place,
// float32 weights beside 16-bit values, and gradients of two dtypes that meet.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/autograd/differentiate.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/update/update_formulas.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace {

using namespace nyala::detail;

constexpr DType kBoth[] = {DType::bfloat16, DType::float16};

Tensor half_of(const std::vector<double>& values, const Shape& shape, DType dtype = DType::bfloat16) {
  return ops::cast(tensor_of(values, shape), dtype);
}

double number_of(const Tensor& x) { return values_of(x)[0]; }

TEST(Half, PredicatesOfDtypes) {
  for (const DType dtype : kBoth) {
    EXPECT_TRUE(is_half(dtype));
    EXPECT_EQ(dtype_of_sums(dtype), DType::float32);
    EXPECT_TRUE(is_weight_dtype(dtype, dtype));
    EXPECT_TRUE(is_weight_dtype(DType::float32, dtype));
    EXPECT_FALSE(is_weight_dtype(DType::float64, dtype));
    EXPECT_FALSE(is_weight_dtype(dtype, DType::float32));
  }
  EXPECT_FALSE(is_weight_dtype(DType::bfloat16, DType::float16));
  EXPECT_FALSE(is_weight_dtype(DType::int32, DType::int32));
  for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::bool_}) {
    EXPECT_FALSE(is_half(dtype));
    EXPECT_EQ(dtype_of_sums(dtype), dtype);
  }
}

/// Added one by one in bfloat16 they would stop at 256, in float16 at 2048.
TEST(Half, ALongSumIsRoundedOnce) {
  const Tensor ones = Tensor::full({100000}, 1.0, DType::bfloat16);
  EXPECT_EQ(ops::sum(ones).dtype(), DType::bfloat16);
  EXPECT_EQ(number_of(ops::sum(ones)), 99840.0);  // the nearest one, 195 * 512
  EXPECT_EQ(number_of(ops::mean(ones)), 1.0);
  EXPECT_EQ(number_of(ops::sum(Tensor::full({60000}, 1.0, DType::float16))), 60000.0);
  EXPECT_EQ(number_of(ops::sum(Tensor::full({100000}, 1.0, DType::float16))),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(number_of(ops::mean(Tensor::full({100000}, 1.0, DType::float16))), 1.0);
  const Tensor column = Tensor::full({100000, 1}, 1.0, DType::bfloat16);
  EXPECT_EQ(number_of(ops::matmul(column, column, {true, false})), 99840.0);
}

TEST(Half, StatisticsAreFloat32) {
  const Tensor x = Tensor::full({1001, 2}, 3.0, DType::bfloat16);
  const Tensor moments = ops::batch_moments(x);
  EXPECT_EQ(moments.dtype(), DType::float32);
  EXPECT_EQ(values_of(moments), (std::vector<double>{1001, 3, 3, 0, 0}));  // bfloat16 would count 1000
  const auto trained = ops::detail::batch_normalization_train(x, Tensor::full({2}, 1.0), {}, {});
  EXPECT_EQ(trained.y.dtype(), DType::bfloat16);
  EXPECT_EQ(trained.mean.dtype(), DType::float32);
  EXPECT_EQ(trained.variance.dtype(), DType::float32);
}

TEST(Half, Promotion) {
  const Tensor b = half_of({1.5}, {1}), f = half_of({1.5}, {1}, DType::float16), wide = tensor_of({1}, {1}),
               whole = tensor_of({2}, {1}, DType::int32);
  EXPECT_EQ((b + b).dtype(), DType::bfloat16);
  EXPECT_EQ((f * f).dtype(), DType::float16);
  EXPECT_EQ((b + f).dtype(), DType::float32);
  EXPECT_EQ((b + wide).dtype(), DType::float32);
  EXPECT_EQ((b + whole).dtype(), DType::bfloat16);
  EXPECT_EQ((b * 0.1).dtype(), DType::bfloat16);
  EXPECT_EQ((1 - f).dtype(), DType::float16);
  EXPECT_EQ((b < 2.0).dtype(), DType::bool_);
  EXPECT_EQ(ops::matmul(b.reshape({1, 1}), wide.reshape({1, 1})).dtype(), DType::float32);
  EXPECT_EQ(ops::exp(f).dtype(), DType::float16);
  EXPECT_EQ(ops::full_like(b, 3).dtype(), DType::bfloat16);
  EXPECT_EQ(number_of(ops::one_hot(tensor_of({0}, {1}, DType::int32), 1, -1, DType::float16)), 1.0);
}

/// A number beside a tensor is what the tensor's dtype makes of it.
TEST(Half, ANumberIsComparedInTheDtype) {
  const Tensor x = half_of({0.1}, {1});
  EXPECT_EQ(ops::not_equal(x, 0.1).to_vector<bool>(), std::vector<bool>{false});
  EXPECT_EQ((x == 0.1).to_vector<bool>(), std::vector<bool>{true});
}

TEST(Half, NanAndInfinityPass) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : kBoth) {
    const std::vector<double> y = values_of(half_of({NAN, inf, -inf, 1}, {4}, dtype) * 2.0);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], inf);
    EXPECT_EQ(y[2], -inf);
    EXPECT_TRUE(std::isnan(number_of(ops::sum(half_of({NAN, 1}, {2}, dtype)))));
    EXPECT_EQ(number_of(ops::count_not_finite(half_of({inf, 1, NAN}, {3}, dtype))), 2.0);
  }
  EXPECT_EQ(number_of(half_of({300}, {1}, DType::float16) * half_of({300}, {1}, DType::float16)), inf);
}

TEST(Half, EmptyTensorsGiveEmptyOnes) {
  const Tensor none = Tensor::zeros({0, 3}, DType::bfloat16), kernel = Tensor::zeros({3, 2}, DType::bfloat16);
  EXPECT_EQ(ops::dense(none, kernel).shape(), (Shape{0, 2}));
  EXPECT_EQ(ops::dense(none, kernel).dtype(), DType::bfloat16);
  EXPECT_EQ(number_of(ops::sum(none)), 0.0);
  EXPECT_EQ((none + none).shape(), (Shape{0, 3}));
}

TEST(Half, ViewsStayViews) {
  const Tensor x = half_of({1, 2, 3, 4}, {4});
  EXPECT_EQ(ops::reshape(x, {2, 2}).raw(), x.raw());
  EXPECT_EQ(ops::expand_dims(x, 0).raw(), x.raw());
  const Tensor given = Tensor::zeros({2, 2}, DType::bfloat16);
  dispatch_into(ops::kReshape, ops::ReshapeDescriptor{{2, 2}}, {&x}, given);
  EXPECT_EQ(values_of(given), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Half, OutputsThatAreGivenAreReadAndWritten) {
  for (const DType dtype : kBoth) {
    const Tensor sum = half_of({1, 2}, {2}, dtype), more = half_of({0.5, -4}, {2}, dtype);
    const uint64_t version = sum.storage()->version();
    dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&more}, sum);
    EXPECT_EQ(values_of(sum), (std::vector<double>{1.5, -2}));
    EXPECT_NE(sum.storage()->version(), version);
    dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&sum}, sum);  // an input that is the output
    EXPECT_EQ(values_of(sum), (std::vector<double>{3, -4}));
    EXPECT_THROW(dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&more}, tensor_of({0, 0}, {2})),
                 ShapeError);
    const Tensor table = half_of({1, 2, 3, 4}, {2, 2}, dtype);
    ops::detail::scatter_into(table, ops::ScatterKind::add, tensor_of({1, 1}, {2}, DType::int32),
                              half_of({1, 2, 3, 4}, {2, 2}, dtype));
    EXPECT_EQ(values_of(table), (std::vector<double>{1, 2, 7, 10}));
    Tensor x = half_of({1, 2, 3}, {3}, dtype);
    x[1] = 7.5;
    x[2] += 1.0;
    EXPECT_EQ(values_of(x), (std::vector<double>{1, 7.5, 4}));
    EXPECT_EQ(x.dtype(), dtype);
  }
}

TEST(Half, BuffersAreSummedInFloat32) {
  for (const bool to_all : {false, true}) {
    const Tensors buffers{half_of({256}, {1}), half_of({1}, {1}), half_of({1}, {1})};
    ops::detail::sum_buffers(buffers, to_all);
    EXPECT_EQ(number_of(buffers[0]), 258.0);  // 256 + 1 is 256 in bfloat16
    EXPECT_EQ(number_of(buffers[1]), to_all ? 258.0 : 1.0);
  }
}

/// The weight is rounded once per update, not once per term.
TEST(Half, AnUpdateOfHalfWeightsIsTheFloat32OneRounded) {
  const OpDef& op = ops::detail::update_op<formulas::Adam>();
  const Tensor factor = tensor_of({1}, {1}, DType::float64),
               scalars = tensor_of({1, 0, 0, 0.01, 0.1, 0.001, 1e-3}, {7}, DType::float64);
  for (const DType dtype : kBoth) {
    const Tensor g = ops::cast(random_tensor({1000}, 1), dtype);
    Tensors half, wide;
    for (uint64_t seed = 2; seed < 5; ++seed) {
      half.push_back(ops::cast(random_tensor({1000}, seed, 0.1, 2.0), dtype));
      wide.push_back(ops::cast(half.back(), DType::float32));
    }
    const Tensor wide_g = ops::cast(g, DType::float32);
    const Tensor *const narrow_inputs[] = {&g, &factor, &scalars}, *const wide_inputs[] = {&wide_g, &factor,
                                                                                           &scalars};
    dispatch(op, ops::UpdateDescriptor{}, narrow_inputs, half);
    dispatch(op, ops::UpdateDescriptor{}, wide_inputs, wide);
    for (size_t i = 0; i < half.size(); ++i)
      EXPECT_EQ(values_of(half[i]), values_of(ops::cast(wide[i], dtype))) << i;
  }
}

TEST(Half, UniformNumbersStayBelowTheirLimit) {
  for (const DType dtype : kBoth) {
    const auto largest = [&](double low, double high) {
      return number_of(ops::max(ops::random_uniform({100000}, low, high, {.key = 7, .dtype = dtype})));
    };
    EXPECT_LT(largest(0, 1), 1.0);
    EXPECT_GT(largest(0, 1), 0.99);
    EXPECT_LT(largest(-1, 0), 0.0);
    EXPECT_LT(largest(-3, -2), -2.0);
    EXPECT_LT(largest(0, 0.1), 0.1);
  }
}

class Collector final : public GradientSink {
 public:
  explicit Collector(Tensors destinations = {}) : destinations_(std::move(destinations)) {}
  Tensor destination(int32_t leaf) override {
    return static_cast<size_t>(leaf) < destinations_.size() ? destinations_[static_cast<size_t>(leaf)]
                                                            : Tensor();
  }
  void ready(int32_t leaf, const Tensor& gradient) override {
    gradients.resize(std::max(gradients.size(), static_cast<size_t>(leaf) + 1));
    gradients[static_cast<size_t>(leaf)] = gradient.clone();
  }
  Tensors gradients;

 private:
  Tensors destinations_;
};

/// 257 is no bfloat16: a float32 weight gets it, and a bfloat16 one the nearest.
TEST(Half, GradientsOfWeightsAreSummedInFloat32) {
  const Tensor x = Tensor::full({257, 1}, 1.0, DType::bfloat16);
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    Tape tape;
    const Tensor kernel = tape.watch(Tensor::full({1, 1}, 1.0, dtype), 0),
                 bias = tape.watch(Tensor::zeros({1}, dtype), 1), tracked = tape.watch(x, 2);
    const Tensor y = ops::dense(tracked, kernel, bias);
    EXPECT_EQ(y.dtype(), DType::bfloat16);
    Collector sink;
    backward(tape, y, sink);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(sink.gradients[i].dtype(), dtype);
      EXPECT_EQ(number_of(sink.gradients[i]), dtype == DType::float32 ? 257.0 : 256.0);
    }
    EXPECT_EQ(sink.gradients[2].dtype(), DType::bfloat16);
  }
}

/// A float32 variable that is cast for each use gets the float32 gradient unrounded, through views, too.
TEST(Half, ACastHandsOnTheFloat32Gradient) {
  Tape tape;
  const Tensor kernel = tape.watch(tensor_of({1}, {1}), 0);
  const Tensor used = ops::reshape(ops::cast(kernel, DType::bfloat16), {1, 1});
  Collector sink;
  backward(tape, ops::dense(Tensor::full({257, 1}, 1.0, DType::bfloat16), used), sink);
  EXPECT_EQ(sink.gradients[0].dtype(), DType::float32);
  EXPECT_EQ(number_of(sink.gradients[0]), 257.0);
}

/// 256 + 1 + 1: one by one in bfloat16 it would be 256. With and without a place for the gradient.
TEST(Half, GradientsOfTwoDtypesMeetInFloat32) {
  for (const bool placed : {false, true}) {
    Tape tape;
    const Tensor kernel = tape.watch(Tensor::full({1, 1}, 1.0, DType::bfloat16), 0);
    const auto through = [&](int64_t rows) {
      return ops::sum(ops::dense(Tensor::full({rows, 1}, 1.0, DType::bfloat16), kernel));
    };
    const Tensor loss = ops::sum(kernel) + through(1) + through(256);
    const Tensor place = Tensor::zeros({1, 1}, DType::bfloat16);
    Collector sink(placed ? Tensors{place} : Tensors{});
    backward(tape, loss, sink);
    EXPECT_EQ(sink.gradients[0].dtype(), DType::bfloat16);
    EXPECT_EQ(number_of(sink.gradients[0]), 258.0);
    if (placed) {
      EXPECT_EQ(number_of(place), 258.0);
    }
  }
}

/// The kernel comes out of an op: its float32 gradient is rounded for that op's gradient.
TEST(Half, AFloat32GradientIsRoundedWhereAnOpTakesIt) {
  for (const bool record : {false, true}) {
    Tape tape;
    const Tensor kernel = tape.track(Tensor::full({1, 1}, 2.0, DType::bfloat16));
    const Tensor y = ops::dense(Tensor::full({257, 1}, 1.0, DType::bfloat16), kernel * kernel);
    const Tensors gradients = differentiate(
        tape, y, {.sources = {kernel.value_id()}, .ranges = {{0, tape.entries().size()}}, .record = record});
    EXPECT_EQ(gradients[0].dtype(), DType::bfloat16);
    EXPECT_EQ(number_of(gradients[0]), 1024.0);  // 4 * 257 = 1028, a tie between 1024 and 1032
  }
}

/// Every op that has weights takes float32 ones beside 16-bit values, and gives them float32 gradients.
TEST(Half, Float32WeightsBesideHalfValues) {
  struct Case {
    const char* name;
    OpFunction f;
    Tensors inputs;  // the first is rounded
  };
  const Tensor image = random_tensor({2, 5, 6, 4}, 1), vector = random_tensor({4}, 2, 0.5, 1.5),
               offset = random_tensor({4}, 3);
  const std::vector<Case> cases = {
      {"dense",
       [](const Tensors& t) { return ops::dense(t[0], t[1], t[2], ops::Activation::relu); },
       {random_tensor({7, 4}, 1), random_tensor({4, 3}, 2), random_tensor({3}, 3)}},
      {"conv2d",
       [](const Tensors& t) { return ops::conv2d(t[0], t[1], t[2]); },
       {image, random_tensor({3, 3, 4, 2}, 2), random_tensor({2}, 3)}},
      {"conv3d",
       [](const Tensors& t) { return ops::conv3d(t[0], t[1], t[2]); },
       {random_tensor({1, 3, 4, 4, 2}, 1), random_tensor({2, 2, 2, 2, 3}, 2), random_tensor({3}, 3)}},
      {"batch normalization",
       [](const Tensors& t) { return ops::detail::batch_normalization_train(t[0], t[1], t[2], {}).y; },
       {image, vector, offset}},
      {"frozen batch normalization",
       [](const Tensors& t) {
         const Tensor mean = t[1].detached(), variance = ops::square(t[2].detached()) + 0.5;
         return ops::batch_normalization_apply(t[0], {mean, variance, t[1], t[2]}, {});
       },
       {image, vector, offset}},
      {"layer normalization",
       [](const Tensors& t) { return ops::layer_normalization(t[0], t[1], t[2], {}); },
       {image, vector, offset}}};
  for (const Case& each : cases)
    for (const DType dtype : kBoth) {
      SCOPED_TRACE(std::string(each.name) + " " + std::string(name_of(dtype)));
      Tensors half = each.inputs, wide = each.inputs;
      half[0] = ops::cast(half[0], dtype);
      wide[0] = ops::cast(half[0], DType::float32);
      const Outcome actual = run_with_gradients_of(dtype, each.f, half),
                    expected = run_with_gradients_of(dtype, each.f, wide);
      EXPECT_EQ(actual.value.dtype(), dtype);
      const double rounding = dtype == DType::bfloat16 ? 0x1p-8 : 0x1p-10;
      // Products of bfloat16 round the weights, too.
      expect_close(ops::cast(actual.value, DType::float32), expected.value, {rounding, 16 * rounding});
      for (size_t i = 0; i < half.size(); ++i) {
        EXPECT_EQ(actual.gradients[i].dtype(), half[i].dtype()) << i;
        expect_close(ops::cast(actual.gradients[i], DType::float32), expected.gradients[i],
                     {4 * rounding, 32 * rounding}, "gradient " + std::to_string(i));
      }
    }
}

/// Their slopes come from a result that was rounded, which has to be far from 1.
TEST(Half, FusedActivationsThatSaturate) {
  const Tensors inputs{random_tensor({9, 5}, 1, -0.4, 0.4), random_tensor({5, 4}, 2, -0.4, 0.4),
                       random_tensor({4}, 3, -0.4, 0.4)};
  for (const auto activation : {ops::Activation::sigmoid, ops::Activation::tanh})
    expect_half([activation](const Tensors& t) { return ops::dense(t[0], t[1], t[2], activation); }, inputs,
                {.half_gradients = 8});
}

TEST(Half, TheGhostDeviceTakesThem) {
  enable_ghost_device();
  const Tensor x = half_of({1, 2, 3, 4}, {2, 2}).to("ghost:0");
  const Tensor y = ops::matmul(x, x) + 1.0;
  EXPECT_EQ(y.dtype(), DType::bfloat16);
  EXPECT_EQ(values_of(y.to(Device{})), (std::vector<double>{8, 11, 16, 23}));
}

}  // namespace
}  // namespace nyala::testing
