#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nyala::ops::detail {

struct ComplexNumber {
  double real = 0, imag = 0;
};

/// The discrete Fourier transform of one length in float64, O(n log n) for any: mixed radix where all prime
/// factors are small, else by the convolution of Bluestein 1970, whose length is a power of two.
class FourierPlan {
 public:
  /// `size` is above 0.
  explicit FourierPlan(int64_t size);

  /// y_k = sum of x_j exp(-2 pi i j k / size), without a factor. x and y do not overlap.
  void transform(const ComplexNumber* x, ComplexNumber* y) const;

 private:
  /// The transform of every `stride`-th number, by the factors from `level` on.
  void combine(const ComplexNumber* x, int64_t stride, ComplexNumber* y, size_t level) const;
  void join(ComplexNumber* y, int64_t parts, int64_t part_size, int64_t stride) const;
  void convolve(const ComplexNumber* x, ComplexNumber* y) const;
  void prepare_convolution();

  int64_t size_ = 1;
  std::vector<int64_t> factors_;
  std::vector<ComplexNumber> roots_;  // exp(-2 pi i j / size)
  // Where a prime factor is large.
  std::unique_ptr<FourierPlan> padded_;
  std::vector<ComplexNumber> chirp_;  // exp(-pi i j^2 / size)
  std::vector<ComplexNumber> spectrum_;
};

}  // namespace nyala::ops::detail
