#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/signal/fft.h>
#include <nyala/backend/ops/signal/stft.h>
#include <nyala/tests/op_values/op_values.h>

namespace nyala::golden {
namespace fft_test {

Tensors parts(const ops::ComplexTensor& y) { return {y.real, y.imag}; }

Tensors fft(const Tensors& x) { return parts(ops::fft({x[0], x[1]})); }
Tensors fft2(const Tensors& x) { return parts(ops::fft2({x[0], x[1]})); }
Tensors ifft2(const Tensors& x) { return parts(ops::ifft2({x[0], x[1]})); }
Tensors rfft(const Tensors& x) { return parts(ops::rfft(x[0])); }
Tensor irfft(const Tensors& x) { return ops::irfft({x[0], x[1]}); }

auto rfft_of(int64_t length) {
  return [=](const Tensors& x) { return parts(ops::rfft(x[0], length)); };
}
auto irfft_of(int64_t length) {
  return [=](const Tensors& x) { return ops::irfft({x[0], x[1]}, length); };
}

using Sizes = std::array<int64_t, 3>;  // sequence_length, sequence_stride, fft_length
auto stft(const Sizes& s, const ops::StftOptions& options = {}) {
  return [=](const Tensors& x) { return parts(ops::stft(x[0], s[0], s[1], s[2], options)); };
}
auto istft(const Sizes& s, const ops::IstftOptions& options = {}) {
  return [=](const Tensors& x) { return ops::istft({x[0], x[1]}, s[0], s[1], s[2], options); };
}
auto there_and_back(const char* window, bool center) {
  return [=](const Tensors& x) {
    return ops::istft(ops::stft(x[0], 4, 2, 6, {window, center}), 4, 2, 6, {{}, window, center});
  };
}

Tensor window() { return Tensor::from(std::vector<float>{0.5f, 1.0f, 2.0f, 1.5f}); }

std::vector<OpCase> cases() {
  return {
      {"fft of 1", fft},
      {"fft of 2", fft},
      {"fft of 3", fft},
      {"fft of 4", fft},
      {"fft of 5", fft},
      {"fft of 6", fft},
      {"fft of 8", fft},
      {"fft of 12", fft},
      {"fft of 15", fft},
      {"fft of 16", fft},
      {"fft of 37", fft},
      {"fft of one axis", fft},
      {"fft of nothing", fft},
      {"fft2", fft2},
      {"ifft2", ifft2},
      {"rfft of 1", rfft},
      {"rfft of 2", rfft},
      {"rfft of 5", rfft},
      {"rfft of 8", rfft},
      {"rfft of 9", rfft},
      {"rfft with length 1", rfft_of(1)},
      {"rfft with length 3", rfft_of(3)},
      {"rfft with length 4", rfft_of(4)},
      {"rfft with length 6", rfft_of(6)},
      {"rfft with length 9", rfft_of(9)},
      {"rfft with length 10", rfft_of(10)},
      {"irfft of 2", irfft},
      {"irfft of 3", irfft},
      {"irfft of 5", irfft},
      {"irfft with length 1", irfft_of(1)},
      {"irfft with length 2", irfft_of(2)},
      {"irfft with length 3", irfft_of(3)},
      {"irfft with length 6", irfft_of(6)},
      {"irfft with length 7", irfft_of(7)},
      {"irfft with length 8", irfft_of(8)},
      {"irfft with length 11", irfft_of(11)},
      {"stft", stft({4, 2, 8})},
      {"stft hamming", stft({5, 3, 5}, {"hamming"})},
      {"stft of one number", stft({1, 1, 2}, {.center = false})},
      {"stft without a window", stft({3, 4, 6}, {std::nullopt, false})},
      {"stft with a window",
       [](const Tensors& x) {
         return stft({4, 2, 7}, {window()})(x);
       }},
      {"istft", istft({4, 2, 8})},
      {"istft with a length", istft({4, 3, 4}, {.length = 5})},
      {"istft, not centered", istft({5, 2, 6}, {.center = false})},
      {"istft without a window", istft({4, 3, 4}, {.window = std::nullopt})},
      {"istft with gaps", istft({2, 3, 2}, {.center = false})},
      {"istft with a window",
       [](const Tensors& x) {
         return istft({4, 2, 6}, {.window = window()})(x);
       }},
      {"stft and istft", there_and_back("hann", true)},
      {"stft and istft hamming", there_and_back("hamming", false)},
  };
}

TEST(OpValues, Fft) { expect_op_values("op_values_fft.json", cases()); }

/// The sum itself, for lengths with small and large prime factors and their products.
TEST(Fft, IsTheSumForAnyLength) {
  for (const int64_t size : {7, 11, 26, 31, 32, 37, 41, 74, 97, 100, 128, 210, 961, 1009}) {
    SCOPED_TRACE(size);
    std::vector<double> real, imag;
    for (int64_t j = 0; j < size; ++j) {
      real.push_back(std::sin(static_cast<double>(j * j % 17)));
      imag.push_back(std::cos(static_cast<double>(3 * j % 11)));
    }
    const ops::ComplexTensor y = ops::fft({Tensor::from(real), Tensor::from(imag)});
    const std::vector<double> got_real = y.real.to_vector<double>(), got_imag = y.imag.to_vector<double>();
    for (int64_t k = 0; k < size; k += size / 7 + 1) {
      std::complex<double> sum = 0;
      for (int64_t j = 0; j < size; ++j) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(j * k % size) / static_cast<double>(size);
        sum +=
            std::complex(real[static_cast<size_t>(j)], imag[static_cast<size_t>(j)]) * std::polar(1.0, angle);
      }
      EXPECT_NEAR(got_real[static_cast<size_t>(k)], sum.real(), 1e-11 * static_cast<double>(size));
      EXPECT_NEAR(got_imag[static_cast<size_t>(k)], sum.imag(), 1e-11 * static_cast<double>(size));
    }
  }
}

TEST(Fft, ShapesOfWhatIsUnknown) {
  const Tensor x = Tensor::abstract({None, 6}, DType::float32),
               open = Tensor::abstract({2, None}, DType::float32);
  EXPECT_EQ(ops::rfft(x).real.shape(), (Shape{None, 4}));
  EXPECT_EQ(ops::rfft(open).imag.shape(), (Shape{2, None}));
  EXPECT_EQ(ops::rfft(open, 5).imag.shape(), (Shape{2, 3}));
  EXPECT_EQ(ops::irfft({x, x}).shape(), (Shape{None, 10}));
  EXPECT_EQ(ops::fft({open, open}).real.shape(), (Shape{2, None}));
  EXPECT_EQ(ops::stft(x, 2, 1, 4).real.shape(), (Shape{None, 7, 3}));
  const Tensor y = Tensor::abstract({None, 5, 3}, DType::float32);
  EXPECT_EQ(ops::istft({y, y}, 2, 1, 4).shape(), (Shape{None, 4}));
}

TEST(Fft, RefusesWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({2, 4}), wide = Tensor::zeros({2, 4}, DType::float64);
  const Tensor whole = Tensor::zeros({2, 4}, DType::int32), half = Tensor::zeros({2, 4}, DType::float16);
  EXPECT_THROW(ops::fft({x, wide}), DTypeError);
  EXPECT_THROW(ops::fft({whole, whole}), DTypeError);
  EXPECT_THROW(ops::irfft({half, half}), DTypeError);
  EXPECT_THROW(ops::rfft(half), DTypeError);
  EXPECT_EQ(ops::rfft(whole).real.dtype(), DType::float32);
  EXPECT_THROW(ops::fft({x, Tensor::zeros({2, 3})}), ShapeError);
  EXPECT_THROW(ops::fft({Tensor::zeros({}), Tensor::zeros({})}), ShapeError);
  EXPECT_THROW(ops::fft2({Tensor::zeros({4}), Tensor::zeros({4})}), ShapeError);
  EXPECT_THROW(ops::rfft(Tensor::zeros({2, 0})), ShapeError);
  EXPECT_EQ(ops::rfft(Tensor::zeros({2, 0}), 4).real.shape(), (Shape{2, 3}));
  EXPECT_THROW(ops::irfft({Tensor::zeros({2, 1}), Tensor::zeros({2, 1})}), ShapeError);
  EXPECT_THROW(ops::rfft(x, 0), InvalidArgumentError);
  EXPECT_THROW(ops::irfft({x, x}, -1), InvalidArgumentError);
}

TEST(Stft, RefusesWhatDoesNotFit) {
  const Tensor x = Tensor::zeros({2, 9}), y = Tensor::zeros({2, 3, 3});
  EXPECT_THROW(ops::stft(Tensor::zeros({2, 9}, DType::int32), 4, 2, 4), DTypeError);
  EXPECT_THROW(ops::stft(x, 4, 0, 4), InvalidArgumentError);
  EXPECT_THROW(ops::stft(x, 5, 1, 4), InvalidArgumentError);
  EXPECT_THROW(ops::stft(x, 4, 1, 4, {"hat"}), InvalidArgumentError);
  EXPECT_THROW(ops::stft(x, 4, 1, 4, {Tensor::zeros({3})}), ShapeError);
  EXPECT_THROW(ops::stft(Tensor::abstract({2, None}, DType::float32), 4, 2, 4), ShapeError);
  EXPECT_THROW(ops::istft({y, y}, 5, 1, 4), InvalidArgumentError);
  EXPECT_THROW(ops::istft({x[0], x[0]}, 4, 1, 4), ShapeError);
  EXPECT_EQ(ops::stft(x, 16, 2, 16, {.center = false}).real.shape(), (Shape{2, 0, 9}));
}

}  // namespace fft_test
}  // namespace nyala::golden
