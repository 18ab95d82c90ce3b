#include <gtest/gtest.h>

#include <nyala/backend/autograd/differentiate.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/elementwise/trigonometric.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/signal/stft.h>
#include <nyala/tests/conformance/ops/op_checks.h>

namespace nyala::testing {
namespace fft_test {

/// Both parts, so that the share of each shows.
Tensor joined(const ops::ComplexTensor& y) { return y.real * 2.0 + ops::sin(y.imag); }

Tensor fft(const Tensors& x) { return joined(ops::fft({x[0], x[1]})); }
Tensor ifft2(const Tensors& x) { return joined(ops::ifft2({x[0], x[1]})); }

TEST(FftTest, GradientsAreCentralDifferencesAndKernelsAgree) {
  const Tolerance tolerance{.relative = 1e-5, .absolute = 1e-5, .half = false};
  for (const int64_t size : {1, 2, 5, 6, 37}) {
    SCOPED_TRACE(size);
    const Tensor a = random_tensor({3, size}, 1), b = random_tensor({3, size}, 2);
    for (const auto f : {fft, ifft2}) {
      expect_gradients(f, {a, b});
      expect_kernels_agree(f, {a, b}, tolerance);
    }
    for (const int64_t length : {1, 2, 3, 6, 7, 12}) {
      const OpFunction forward = [=](const Tensors& x) { return joined(ops::rfft(x[0], length)); };
      const OpFunction backward = [=](const Tensors& x) { return ops::irfft({x[0], x[1]}, length); };
      expect_gradients(forward, {a});
      expect_gradients(backward, {a, b});
      expect_kernels_agree(forward, {a}, tolerance);
      expect_kernels_agree(backward, {a, b}, tolerance);
    }
  }
}

/// One part alone.
TEST(FftTest, GradientsOfOnePart) {
  const Tensor a = random_tensor({2, 5}, 3), b = random_tensor({2, 5}, 4);
  expect_gradients([](const Tensors& x) { return ops::fft({x[0], x[1]}).imag; }, {a, b});
  expect_gradients([](const Tensors& x) { return ops::rfft(x[0]).real; }, {a});
}

/// The gradient of the sum of f's result, recorded where x is tracked.
Tensor slope(const OpFunction& f, const Tensor& x) {
  Tape own;
  const bool is_tracked = x.tape() != nullptr;
  const Tensor source = is_tracked ? x : own.track(x);
  Tape& tape = *source.tape();
  const Tensor y = ops::sum(f({source}));
  return nyala::detail::differentiate(
      tape, y,
      {.sources = {source.value_id()}, .ranges = {{0, tape.entries().size()}}, .record = is_tracked})[0];
}

TEST(FftTest, SecondDerivatives) {
  const OpFunction f = [](const Tensors& t) {
    const ops::ComplexTensor y = ops::rfft(t[0], 6);
    return ops::sin(ops::irfft({ops::sin(y.real), ops::sin(y.imag)}, 5));
  };
  expect_gradients([&](const Tensors& t) { return ops::square(slope(f, t[0])); }, {random_tensor({2, 5}, 5)},
                   {1e-5, 1e-5});
}

TEST(StftTest, GradientsAreCentralDifferences) {
  const Tensor x = random_tensor({2, 11}, 6), window = random_tensor({4}, 7, 0.5, 1.5);
  expect_gradients([](const Tensors& t) { return joined(ops::stft(t[0], 4, 3, 6)); }, {x});
  expect_gradients([](const Tensors& t) { return joined(ops::stft(t[0], 4, 3, 6, {t[1]})); }, {x, window});
  const Tensor a = random_tensor({2, 3, 4}, 8), b = random_tensor({2, 3, 4}, 9);
  expect_gradients(
      [](const Tensors& t) {
        return ops::istft({t[0], t[1]}, 4, 2, 6, {.window = t[2]});
      },
      {a, b, window});
}

}  // namespace fft_test
}  // namespace nyala::testing
