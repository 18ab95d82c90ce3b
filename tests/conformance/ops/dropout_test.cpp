#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/dropout.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {

using namespace nyala::detail;
namespace {

using ops::DropoutDescriptor;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Tensor step_tensor(int64_t step) { return Tensor::scalar<int64_t>(step); }

std::vector<double> dropped(const Tensor& x, int64_t step, const DropoutDescriptor& d) {
  return values_of(ops::dropout(x, step_tensor(step), d));
}

Tensor ones(const Shape& shape) { return Tensor::full(shape, 1.0); }

/// Every kernel that this machine has for dropout.
std::vector<std::string_view> kernels() {
  std::vector<std::string_view> names{"reference"};
  for (const Kernel& kernel : KernelTable::instance().fast_kernels(ops::kDropout, DeviceKind::cpu))
    names.push_back(kernel.name);
  return names;
}

TEST(Dropout, KeepsTheMeanAndDropsAtItsRate) {
  constexpr double kCount = 200000;
  for (const std::string_view kernel : kernels()) {
    ScopedValue<std::string_view> only(thread_context().only_kernel, kernel);
    for (const double rate : {0.1, 0.5, 0.9}) {
      double zeros = 0, sum = 0, neighbours = 0, previous = 0;
      for (const double value : dropped(ones({200, 1000}), 3, {.rate = rate, .key = 7})) {
        EXPECT_TRUE(value == 0.0 || std::abs(value - 1 / (1 - rate)) < 1e-6);
        zeros += value == 0.0;
        sum += value;
        neighbours += value != 0.0 && previous != 0.0;
        previous = value;
      }
      const double deviation = std::sqrt(rate * (1 - rate) / kCount);
      EXPECT_NEAR(zeros / kCount, rate, 4 * deviation);
      EXPECT_NEAR(sum / kCount, 1.0, 4 * deviation / (1 - rate));
      EXPECT_NEAR(neighbours / kCount, (1 - rate) * (1 - rate), 6 * deviation);  // neighbours are independent
    }
  }
}

TEST(Dropout, EdgesOfTheRate) {
  const Tensor x = random_tensor({5, 67}, 1);
  EXPECT_EQ(dropped(x, 1, {.rate = 0.0}), values_of(x));
  EXPECT_EQ(dropped(x, 1, {.rate = 1.0}), std::vector<double>(5 * 67, 0.0));
  EXPECT_EQ(dropped(random_tensor({0, 3}, 1), 1, {.rate = 0.5}).size(), 0u);
  EXPECT_EQ(dropped(random_tensor({}, 1), 1, {.rate = 0.5}).size(), 1u);
  EXPECT_THAT([&] { ops::dropout(x, step_tensor(1), {.rate = 1.5}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("expected a rate in [0, 1], received 1.5")));
  EXPECT_THROW(ops::dropout(x, step_tensor(1), {.rate = std::nan("")}), InvalidArgumentError);
  EXPECT_THROW(ops::dropout(x, step_tensor(1), {.rate = 0.5, .first_row = -1}), InvalidArgumentError);
  EXPECT_THAT([&] { ops::dropout(x, Tensor(1.0f), {.rate = 0.5}); },
              ThrowsMessage<ShapeError>(HasSubstr("expected a step of one int32, int64 or float64 element")));
  EXPECT_THROW(ops::dropout(tensor_of({1}, {1}, DType::int32), step_tensor(1), {.rate = 0.5}), ShapeError);
}

TEST(Dropout, SameWhateverTheSplitOfRows) {
  for (const std::string_view kernel : kernels()) {
    ScopedValue<std::string_view> only(thread_context().only_kernel, kernel);
    for (const uint32_t shared : {0u, 2u, 4u, 6u})
      for (const Shape& shape : {Shape{13, 3, 5}, Shape{13, 7, 64}, Shape{13, 1, 1}}) {
        const Tensor x = random_tensor(shape, 1);
        const DropoutDescriptor whole{.rate = 0.3, .key = 5, .first_row = 4, .noise_axes = shared};
        const std::vector<double> expected = dropped(x, 2, whole);
        for (const std::vector<int64_t>& cuts :
             {std::vector<int64_t>{0, 1, 13}, {0, 6, 7, 13}, {0, 5, 5, 12, 13}}) {
          std::vector<double> joined;
          for (size_t i = 0; i + 1 < cuts.size(); ++i) {
            DropoutDescriptor part = whole;
            part.first_row += cuts[i];
            for (const double v : dropped(x.rows(cuts[i], cuts[i + 1] - cuts[i]), 2, part))
              joined.push_back(v);
          }
          EXPECT_EQ(joined, expected) << kernel << " " << shape.to_string();
        }
      }
  }
}

TEST(Dropout, EveryNumberOfItsKeyCounts) {
  const Tensor x = ones({8, 32});
  const DropoutDescriptor d{.rate = 0.5, .key = 5};
  DropoutDescriptor other_key = d, other_call = d, other_row = d;
  other_key.key = 6;
  other_call.call = 1;
  other_row.first_row = 8;
  const std::set<std::vector<double>> all{
      dropped(x, 1, d),         dropped(x, 2, d),          dropped(x, int64_t{1} << 40, d),
      dropped(x, 1, other_key), dropped(x, 1, other_call), dropped(x, 1, other_row)};
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(dropped(x, 1, d), dropped(x, 1, d));
  EXPECT_EQ(values_of(ops::dropout(x, Tensor::scalar<double>(2.0), d)), dropped(x, 2, d));
  EXPECT_EQ(values_of(ops::dropout(x, Tensor::from<int32_t>({2}), d)), dropped(x, 2, d));
}

TEST(Dropout, SharedAxesShareTheirDraws) {
  const std::vector<double> y = dropped(ones({6, 5, 4, 8}), 1, {.rate = 0.5, .key = 2, .noise_axes = 6});
  std::set<double> seen;
  for (size_t row = 0; row < 6; ++row)
    for (size_t place = 0; place < 20; ++place)
      for (size_t channel = 0; channel < 8; ++channel) {
        EXPECT_EQ(y[row * 160 + place * 8 + channel], y[row * 160 + channel]);
        seen.insert(y[row * 160 + channel]);
      }
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(dropped(ones({3, 40}), 1, {.rate = 0.5, .first_row = 0, .noise_axes = 1}),
            dropped(ones({3, 40}), 1, {.rate = 0.5, .first_row = 9, .noise_axes = 1}));
}

TEST(Dropout, NoiseShapes) {
  EXPECT_EQ(ops::detail::dropout_noise_axes({None, 5, 4, 8}, {None, 1, 1, 8}), 6u);
  EXPECT_EQ(ops::detail::dropout_noise_axes({None, 5}, {1, None}), 1u);
  EXPECT_THROW(ops::detail::dropout_noise_axes({None, 5}, {1, 4}), ShapeError);
  EXPECT_THROW(ops::detail::dropout_noise_axes({None, 5}, {1}), ShapeError);
}

TEST(Dropout, TheGradientHasTheSameMask) {
  const DropoutDescriptor d{.rate = 0.4, .key = 3, .first_row = 11};
  const OpFunction f = [&](const Tensors& t) { return ops::dropout(t[0], t[1], d); };
  const Outcome outcome = run_with_gradients(f, {ones({9, 21}), step_tensor(5)});
  const std::vector<double> y = values_of(outcome.value), dx = values_of(outcome.gradients[0]);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i] == 0.0, dx[i] == 0.0) << i;
}

TEST(Dropout, GradientsAndKernels) {
  for (const uint32_t shared : {0u, 1u, 2u, 4u, 6u, 7u})
    for (const double rate : {0.0, 0.25, 1.0}) {
      const OpFunction f = [=](const Tensors& t) {
        return ops::dropout(t[0], t[1],
                            {.rate = rate, .key = 9, .first_row = 3, .call = 2, .noise_axes = shared});
      };
      expect_gradients(f, {random_tensor({3, 2, 5}, 1), step_tensor(4)});
      for (const Shape& shape : {Shape{0, 3, 3}, Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{20, 33, 65}})
        expect_kernels_agree(f, {random_tensor(shape, 2), step_tensor(7)}, {1e-6, 0});
    }
}

}  // namespace
}  // namespace nyala::testing
