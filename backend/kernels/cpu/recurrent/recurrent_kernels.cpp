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

const char* unsupported_reason_of_recurrent(const KernelCall& call) {
  return is_narrow_float(call.output(0).dtype()) ? nullptr : "float32 and 16-bit floats only";
}

float* aligned_floats(const Tensor& workspace) {
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(workspace.raw()) + 63) / 64 * 64);
}

size_t workspace_for(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float) + 64; }

void pack_forward(const RecurrentLoops& loops, const Tensor& kernel, float* packed) {
  const WideInput numbers(kernel);
  const int64_t lanes = loops.lanes, units = kernel.shape()[0], gates = kernel.shape()[1] / units;
  for (int64_t first = 0; first < units; first += lanes)
    for (int64_t k = 0; k < units; ++k)
      for (int64_t gate = 0; gate < gates; ++gate, packed += lanes) {
        const int64_t count = std::min(lanes, units - first);
        numbers.load((k * gates + gate) * units + first, count, packed);
        std::fill(packed + count, packed + lanes, 0.0f);
      }
}

void pack_backward(const RecurrentLoops& loops, const Tensor& kernel, float* packed) {
  const int64_t wide = 4 * loops.lanes, units = kernel.shape()[0], columns = kernel.shape()[1];
  const WideInput numbers(kernel);
  parallel_for((units + wide - 1) / wide, 1, [&](int64_t begin, int64_t end) {
    float buffer[kWideRun];
    for (int64_t panel = begin; panel < end; ++panel) {
      float* to = packed + panel * wide * columns;
      const int64_t first = panel * wide, count = std::min(wide, units - first);
      if (count < wide) std::fill_n(to, wide * columns, 0.0f);
      for (int64_t i = 0; i < count; ++i)
        for_each_tile(numbers.is_widened(), 0, columns, [&](int64_t k, int64_t in_tile) {
          const float* from = numbers.read((first + i) * columns + k, in_tile, buffer);
          for (int64_t j = 0; j < in_tile; ++j) to[(k + j) * wide + i] = from[j];
        });
    }
  });
}

void SequenceRows::spread(const float* state, const Tensor& sequence, int64_t s) const {
  const WideOutput to(sequence);
  const RowsAt rows = step(s, p_.sizes.units);
  for (int64_t row = 0; row < rows.count; ++row)
    to.store(rows.first + row * rows.stride, rows.size, state + row * rows.size);
}

bool SequenceRows::shows(int64_t row, int64_t s) const {
  if (!p_.mask) return true;
  const bool* flags = p_.mask->raw_as<bool>() + (p_.first + row) * p_.sizes.time;
  return ops::RowMask(flags, p_.sizes, p_.options->zero_output_for_mask).shows(s);
}

void SequenceRows::show(const float* h, const Tensor& output, int64_t s) const {
  const int64_t units = p_.sizes.units;
  const WideOutput y(output);
  for (int64_t row = 0; row < p_.rows; ++row)
    if (shows(row, s))
      y.store(output_place(row, s), units, h + row * units);
    else
      y.zero(output_place(row, s), units);
}

void SequenceRows::add_output(const Tensor& gradient, float* dh, int64_t s) const {
  const WideInput numbers(gradient);
  float buffer[kWideRun];
  for (int64_t row = 0; row < p_.rows; ++row) {
    if (!shows(row, s)) continue;
    for_each_tile(numbers.is_widened(), 0, p_.sizes.units, [&](int64_t first, int64_t count) {
      const float* dy = numbers.read(output_place(row, s) + first, count, buffer);
      float* to = dh + row * p_.sizes.units + first;
      for (int64_t j = 0; j < count; ++j) to[j] += dy[j];
    });
  }
}

void SequenceRows::begin(const Tensor* given, float* gradient) const {
  const int64_t units = p_.sizes.units;
  if (given)
    WideInput(*given).load(p_.first * units, p_.rows * units, gradient);
  else
    std::fill_n(gradient, p_.rows * units, 0.0f);
}

}  // namespace nyala
