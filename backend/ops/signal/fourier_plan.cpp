#include <nyala/backend/ops/signal/fourier_plan.h>

#include <array>
#include <cmath>
#include <numbers>

namespace nyala::ops::detail {

namespace {

constexpr int64_t kLargestFactor = 31;

ComplexNumber operator+(ComplexNumber a, ComplexNumber b) { return {a.real + b.real, a.imag + b.imag}; }
ComplexNumber operator-(ComplexNumber a, ComplexNumber b) { return {a.real - b.real, a.imag - b.imag}; }
ComplexNumber operator*(ComplexNumber a, ComplexNumber b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
ComplexNumber conjugate(ComplexNumber a) { return {a.real, -a.imag}; }

/// exp(-2 pi i part / whole).
ComplexNumber root_of_one(int64_t part, int64_t whole) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(whole);
  return {std::cos(angle), std::sin(angle)};
}

/// Fours first, then the primes, ascending.
std::vector<int64_t> factors_of(int64_t size) {
  std::vector<int64_t> out;
  const auto divide_by = [&](int64_t factor) {
    for (; size % factor == 0; size /= factor) out.push_back(factor);
  };
  divide_by(4);
  divide_by(2);
  for (int64_t factor = 3; factor * factor <= size; factor += 2) divide_by(factor);
  if (size > 1) out.push_back(size);
  return out;
}

size_t index(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

FourierPlan::FourierPlan(int64_t size) : size_(size), factors_(factors_of(size)) {
  if (!factors_.empty() && factors_.back() > kLargestFactor) {
    prepare_convolution();
    return;
  }
  roots_.reserve(index(size));
  for (int64_t j = 0; j < size; ++j) roots_.push_back(root_of_one(j, size));
}

void FourierPlan::transform(const ComplexNumber* x, ComplexNumber* y) const {
  if (padded_)
    convolve(x, y);
  else
    combine(x, 1, y, 0);
}

void FourierPlan::combine(const ComplexNumber* x, int64_t stride, ComplexNumber* y, size_t level) const {
  if (level == factors_.size()) {
    y[0] = x[0];
    return;
  }
  const int64_t parts = factors_[level], part_size = size_ / stride / parts;
  for (int64_t part = 0; part < parts; ++part)
    combine(x + part * stride, stride * parts, y + part * part_size, level + 1);
  join(y, parts, part_size, stride);
}

void FourierPlan::join(ComplexNumber* y, int64_t parts, int64_t part_size, int64_t stride) const {
  std::array<ComplexNumber, kLargestFactor> terms;
  for (int64_t k = 0; k < part_size; ++k) {
    for (int64_t part = 0; part < parts; ++part)
      terms[index(part)] = y[part * part_size + k] * roots_[index(part * k * stride)];
    ComplexNumber* const out = y + k;
    if (parts == 2) {
      out[0] = terms[0] + terms[1];
      out[part_size] = terms[0] - terms[1];
    } else if (parts == 4) {
      const ComplexNumber a = terms[0] + terms[2], b = terms[0] - terms[2], c = terms[1] + terms[3];
      const ComplexNumber d = terms[1] - terms[3], turned{d.imag, -d.real};
      out[0] = a + c;
      out[part_size] = b + turned;
      out[2 * part_size] = a - c;
      out[3 * part_size] = b - turned;
    } else {
      for (int64_t place = 0; place < parts; ++place) {
        ComplexNumber sum = terms[0];
        for (int64_t part = 1; part < parts; ++part)
          sum = sum + terms[index(part)] * roots_[index(part * place % parts * (size_ / parts))];
        out[place * part_size] = sum;
      }
    }
  }
}

void FourierPlan::prepare_convolution() {
  int64_t padded = 1;
  while (padded < 2 * size_ - 1) padded *= 2;
  padded_ = std::make_unique<FourierPlan>(padded);
  std::vector<ComplexNumber> kernel(index(padded));
  int64_t square = 0;  // j^2 modulo 2 size
  for (int64_t j = 0; j < size_; ++j) {
    chirp_.push_back(root_of_one(square, 2 * size_));
    kernel[index(j)] = kernel[index((padded - j) % padded)] = conjugate(chirp_.back());
    square = (square + 2 * j + 1) % (2 * size_);
  }
  spectrum_.resize(index(padded));
  padded_->transform(kernel.data(), spectrum_.data());
}

void FourierPlan::convolve(const ComplexNumber* x, ComplexNumber* y) const {
  std::vector<ComplexNumber> values(spectrum_.size()), transformed(spectrum_.size());
  for (int64_t j = 0; j < size_; ++j) values[index(j)] = x[j] * chirp_[index(j)];
  padded_->transform(values.data(), transformed.data());
  for (size_t k = 0; k < spectrum_.size(); ++k) values[k] = conjugate(transformed[k] * spectrum_[k]);
  padded_->transform(values.data(), transformed.data());
  const double scale = 1.0 / static_cast<double>(spectrum_.size());
  for (int64_t k = 0; k < size_; ++k) {
    const ComplexNumber sum = conjugate(transformed[index(k)]) * chirp_[index(k)];
    y[k] = {sum.real * scale, sum.imag * scale};
  }
}

}  // namespace nyala::ops::detail
