// Three passes over a row: the largest score, the sum of exp(x - largest), and the result, for which softmax
// computes exp again instead of storing it. Crossentropy from logits never makes probabilities: the loss is
// log(sum) + largest - x[label], its gradient softmax minus 1 at the label. A row is one thread's; of 16-bit
// floats it is widened as a whole.
#include <algorithm>
#include <cmath>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
#include <nyala/backend/kernels/cpu/normalization/softmax.h>
#include <nyala/backend/kernels/cpu/normalization/softmax_loops.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using LoopsOf = const SoftmaxLoops& (*)();

/// Calls body(row) for all rows of `n` scores, on the team where it pays.
template <class Body>
void for_each_row(int64_t rows, int64_t n, Body&& body) {
  constexpr int64_t kWorkPerScore = 16;
  const int64_t grain = kParallelGrain / (n * kWorkPerScore) + 1;
  parallel_for(rows, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) body(row);
  });
}

// ---- softmax and log_softmax

const char* unsupported_softmax(const KernelCall& call) {
  if (!is_narrow_float(call.output(0).dtype())) return "float32 and 16-bit floats only";
  for (const Tensor* input : call.inputs)
    if (input->dtype() != call.output(0).dtype()) return "inputs of two dtypes";
  if (is_half(call.output(0).dtype()) && call.output(0).shape().back() > kWideRow)
    return "rows of more than 4096 16-bit floats";
  return call.descriptor<ops::SoftmaxDescriptor>().axis == -1 ? nullptr : "the last axis only";
}

template <LoopsOf kLoops, bool kLogarithm>
void softmax(const KernelCall& call) {
  const int64_t n = call.input(0).shape().back();
  const WideInput scores(call.input(0));
  const WideOutput results(call.output(0));
  for_each_row(call.input(0).num_elements() / n, n, [&](int64_t row) {
    float wide[kWideRow];
    const float* x = scores.read(row * n, n, wide);
    float* y = results.place(row * n, wide);
    const SoftmaxLoops::Total total = kLoops().total(x, n);
    if (kLogarithm) {
      kLoops().shift(x, n, total.largest, y);
      kLoops().shift(y, n, std::log(total.sum), y);
    } else {
      kLoops().scaled_exp(x, n, total.largest, 1.0f / total.sum, y);
    }
    results.write(row * n, n, y);
  });
}

template <LoopsOf kLoops, bool kLogarithm>
void softmax_backward(const KernelCall& call) {
  const int64_t n = call.input(1).shape().back();
  const auto loop = kLogarithm ? kLoops().log_softmax_backward : kLoops().softmax_backward;
  const WideInput gradient(call.input(0)), results(call.input(1));
  const WideOutput dx(call.output(0));
  for_each_row(call.input(1).num_elements() / n, n, [&](int64_t row) {
    float wide_g[kWideRow], wide_y[kWideRow];
    float* place = dx.place(row * n, wide_g);
    loop(gradient.read(row * n, n, wide_g), results.read(row * n, n, wide_y), n, place);
    dx.write(row * n, n, place);
  });
}

// ---- sparse categorical crossentropy

const char* unsupported_crossentropy(const KernelCall& call) {
  const auto& d = call.descriptor<ops::SparseCrossentropyDescriptor>();
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  return d.from_logits ? nullptr : "logits only";
}

template <LoopsOf kLoops>
void crossentropy(const KernelCall& call) {
  const auto& d = call.descriptor<ops::SparseCrossentropyDescriptor>();
  const int64_t n = call.input(0).shape().back();
  for_each_row(call.output(0).num_elements(), n, [&](int64_t row) {
    const ops::SparseLabel label(d, call.input(1), row, n);
    const float* x = call.in<float>(0) + row * n;
    float* loss = call.out<float>(0) + row;
    if (!label.valid()) {
      *loss = label.report(*call.inputs.back());
      return;
    }
    const SoftmaxLoops::Total total = kLoops().total(x, n);
    *loss = std::log(total.sum) + (total.largest - x[label.index()]);
  });
}

template <LoopsOf kLoops>
void crossentropy_backward(const KernelCall& call) {
  const auto& d = call.descriptor<ops::SparseCrossentropyDescriptor>();
  const int64_t n = call.input(1).shape().back();
  for_each_row(call.input(0).num_elements(), n, [&](int64_t row) {
    const ops::SparseLabel label(d, call.input(2), row, n);
    const float* x = call.in<float>(1) + row * n;
    float* dx = call.out<float>(0) + row * n;
    const float g = call.in<float>(0)[row];
    if (!label.valid()) {
      std::fill_n(dx, n, 0.0f);
      return;
    }
    const SoftmaxLoops::Total total = kLoops().total(x, n);
    kLoops().scaled_exp(x, n, total.largest, g / total.sum, dx);
    dx[label.index()] -= g;
  });
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  constexpr DeviceKind cpu = DeviceKind::cpu;
  table.add(ops::kSoftmax, cpu, {name, unsupported_softmax, nullptr, softmax<kLoops, false>, true});
  table.add(ops::kLogSoftmax, cpu, {name, unsupported_softmax, nullptr, softmax<kLoops, true>, true});
  table.add(ops::kSoftmaxBackward, cpu,
            {name, unsupported_softmax, nullptr, softmax_backward<kLoops, false>, true});
  table.add(ops::kLogSoftmaxBackward, cpu,
            {name, unsupported_softmax, nullptr, softmax_backward<kLoops, true>, true});
  table.add(ops::kSparseCategoricalCrossentropy, cpu,
            {name, unsupported_crossentropy, nullptr, crossentropy<kLoops>});
  table.add(ops::kSparseCategoricalCrossentropyBackward, cpu,
            {name, unsupported_crossentropy, nullptr, crossentropy_backward<kLoops>});
}

}  // namespace

void register_softmax(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<softmax_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<softmax_loops_avx2>(table, "avx2");
}

}  // namespace nyala
