#include <algorithm>

#include <nyala/backend/kernels/cpu/recurrent/recurrent_kernels.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

RecurrentLoops::Activation activation_of(ops::RecurrentActivation f) {
  switch (f) {
    case ops::RecurrentActivation::relu:
      return RecurrentLoops::Activation::relu;
    case ops::RecurrentActivation::sigmoid:
      return RecurrentLoops::Activation::sigmoid;
    case ops::RecurrentActivation::tanh:
      return RecurrentLoops::Activation::tanh;
    case ops::RecurrentActivation::hard_sigmoid:
      return RecurrentLoops::Activation::hard_sigmoid;
    case ops::RecurrentActivation::linear:
      break;
  }
  return RecurrentLoops::Activation::linear;
}

float* aligned_floats(const Tensor& workspace) {
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(workspace.raw()) + 63) / 64 * 64);
}

size_t workspace_for(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float) + 64; }

void pack_forward(const RecurrentLoops& loops, const Tensor& kernel, float* packed) {
  const int64_t lanes = loops.lanes, units = kernel.shape()[0], gates = kernel.shape()[1] / units;
  for (int64_t first = 0; first < units; first += lanes)
    for (int64_t k = 0; k < units; ++k)
      for (int64_t gate = 0; gate < gates; ++gate, packed += lanes) {
        const int64_t count = std::min(lanes, units - first);
        std::copy_n(kernel.raw_as<float>() + (k * gates + gate) * units + first, count, packed);
        std::fill(packed + count, packed + lanes, 0.0f);
      }
}

void pack_backward(const RecurrentLoops& loops, const Tensor& kernel, float* packed) {
  const int64_t wide = 4 * loops.lanes, units = kernel.shape()[0], columns = kernel.shape()[1];
  parallel_for((units + wide - 1) / wide, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      float* to = packed + panel * wide * columns;
      const int64_t first = panel * wide, count = std::min(wide, units - first);
      for (int64_t i = 0; i < wide; ++i)
        for (int64_t k = 0; k < columns; ++k)
          to[k * wide + i] = i < count ? kernel.raw_as<float>()[(first + i) * columns + k] : 0.0f;
    }
  });
}

void SequenceRows::spread(const float* state, float* sequence, int64_t s) const {
  const int64_t units = p_.sizes.units;
  float* to = sequence + at(s) * units;
  for (int64_t row = 0; row < p_.rows; ++row)
    std::copy_n(state + row * units, units, to + row * p_.sizes.time * units);
}

bool SequenceRows::shows(int64_t row, int64_t s) const {
  if (!p_.mask) return true;
  const bool* flags = p_.mask->raw_as<bool>() + (p_.first + row) * p_.sizes.time;
  return ops::RowMask(flags, p_.sizes, p_.options->zero_output_for_mask).shows(s);
}

void SequenceRows::show(const float* h, float* output, int64_t s) const {
  const int64_t units = p_.sizes.units;
  for (int64_t row = 0; row < p_.rows; ++row) {
    float* y = output + output_place(row, s);
    if (shows(row, s))
      std::copy_n(h + row * units, units, y);
    else
      std::fill_n(y, units, 0.0f);
  }
}

void SequenceRows::add_output(const float* gradient, float* dh, int64_t s) const {
  const int64_t units = p_.sizes.units;
  for (int64_t row = 0; row < p_.rows; ++row) {
    if (!shows(row, s)) continue;
    const float* dy = gradient + output_place(row, s);
    for (int64_t j = 0; j < units; ++j) dh[row * units + j] += dy[j];
  }
}

void SequenceRows::begin(const Tensor* given, float* gradient) const {
  const int64_t units = p_.sizes.units;
  if (given)
    std::copy_n(given->raw_as<float>() + p_.first * units, p_.rows * units, gradient);
  else
    std::fill_n(gradient, p_.rows * units, 0.0f);
}

}  // namespace nyala
