// Layer normalization (Ba, Kiros and Hinton, "Layer Normalization", 2016). Each row is summed in double:
// first the mean, then the squares around it, for the square of the mean would swallow a small variance. With
// s the slope of x_hat the gradient of a row is inverse * (s - mean(s) - x_hat * mean(s * x_hat)). When the
// gradient itself is recorded it is built from differentiable ops.
#include <nyala/backend/ops/nn/layer_normalization.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala::ops {

using namespace nyala::detail;

LayerNormalizationRows::LayerNormalizationRows(const Shape& x, int axes)
    : rows(x.slice(0, x.rank() - axes).num_elements()), n(x.slice(x.rank() - axes, x.rank()).num_elements()) {
  if (n == 0) rows = 0;
}

namespace {

using Descriptor = LayerNormalizationDescriptor;
using Rows = LayerNormalizationRows;

Rows rows_of(const KernelCall& call, size_t x) {
  return {call.input(x).shape(), call.descriptor<Descriptor>().axes};
}

void infer_layer_forward(InferContext& c) {
  const auto& d = c.descriptor<Descriptor>();
  const Shape& x = c.shape(0);
  if (d.axes < 1 || d.axes > x.rank())
    c.fail("expected 1 to " + std::to_string(x.rank()) + " axes of x " + x.to_string() + ", received " +
           std::to_string(d.axes));
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
  const Shape normalized = x.slice(x.rank() - d.axes, x.rank());
  for (size_t i = 1; i < c.num_inputs(); ++i)
    if (c.shape(i) != normalized || !is_weight_dtype(c.dtype(i), c.dtype(0)))
      c.fail("expected gamma and beta of shape " + normalized.to_string() + " and dtype " +
             std::string(name_of(c.dtype(0))) + ", received " + c.shape(i).to_string() + " " +
             std::string(name_of(c.dtype(i))));
  c.output(0, x, c.dtype(0));
  Shape statistics = x.slice(0, x.rank() - d.axes);
  statistics.append(2);
  c.output(1, statistics, dtype_of_sums(c.dtype(0)));
}

template <class T>
void normalize_row(const KernelCall& call, const Rows& size, int64_t row) {
  const auto& d = call.descriptor<Descriptor>();
  const T* gamma = d.has_gamma ? call.in<T>(1) : nullptr;
  const T* beta = d.has_beta ? call.in<T>(d.has_gamma ? 2 : 1) : nullptr;
  const T* x = call.in<T>(0) + row * size.n;
  T* y = call.out<T>(0) + row * size.n;
  const double count = static_cast<double>(size.n);
  double mean = 0.0, squares = 0.0;
  for (int64_t i = 0; d.centered && i < size.n; ++i) mean += static_cast<double>(x[i]) / count;
  for (int64_t i = 0; i < size.n; ++i)
    squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  const double inverse = 1.0 / std::sqrt(squares / count + d.epsilon);
  for (int64_t i = 0; i < size.n; ++i) {
    const double x_hat = (static_cast<double>(x[i]) - mean) * inverse;
    y[i] = static_cast<T>((gamma ? static_cast<double>(gamma[i]) : 1.0) * x_hat +
                          (beta ? static_cast<double>(beta[i]) : 0.0));
  }
  call.out<T>(1)[2 * row] = static_cast<T>(mean);
  call.out<T>(1)[2 * row + 1] = static_cast<T>(inverse);
}

void layer_forward_reference(const KernelCall& call) {
  const Rows size = rows_of(call, 0);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for (int64_t row = 0; row < size.rows; ++row) normalize_row<T>(call, size, row);
  });
}

bool has_sums(const Descriptor& d) { return d.has_gamma || d.has_beta; }

void infer_layer_backward(InferContext& c) {
  const auto& d = c.descriptor<Descriptor>();
  c.output(0, c.shape(1), c.dtype(1));
  c.output(1, {2, has_sums(d) ? Rows(c.shape(1), d.axes).n : 0}, dtype_of_sums(c.dtype(1)));
}

/// The gradient of one row of x; adds the row to `sums` where it has room.
template <class T>
void backward_row(const KernelCall& call, const Rows& size, int64_t row, std::vector<double>& sums) {
  const auto& d = call.descriptor<Descriptor>();
  const T* g = call.in<T>(0) + row * size.n;
  const T* x = call.in<T>(1) + row * size.n;
  const T* gamma = d.has_gamma ? call.in<T>(3) : nullptr;
  T* dx = call.out<T>(0) + row * size.n;
  const double mean = call.in<T>(2)[2 * row], inverse = call.in<T>(2)[2 * row + 1];
  const double count = static_cast<double>(size.n);
  double sum = 0.0, product = 0.0;
  for (int64_t i = 0; i < size.n; ++i) {
    const double x_hat = (x[i] - mean) * inverse, slope = g[i] * (gamma ? gamma[i] : T(1));
    sum += slope / count;
    product += slope * x_hat / count;
    if (!sums.empty()) {
      sums[static_cast<size_t>(i)] += g[i];
      sums[static_cast<size_t>(size.n + i)] += g[i] * x_hat;
    }
  }
  if (!d.centered) sum = 0.0;
  for (int64_t i = 0; i < size.n; ++i) {
    const double x_hat = (x[i] - mean) * inverse, slope = g[i] * (gamma ? gamma[i] : T(1));
    dx[i] = static_cast<T>(inverse * (slope - sum - x_hat * product));
  }
}

void layer_backward_reference(const KernelCall& call) {
  const Rows size = rows_of(call, 1);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    std::vector<double> sums(static_cast<size_t>(call.output(1).num_elements()));
    for (int64_t row = 0; row < size.rows; ++row) backward_row<T>(call, size, row, sums);
    for (size_t i = 0; i < sums.size(); ++i) call.out<T>(1)[i] = static_cast<T>(sums[i]);
  });
}

/// The same in ops that have gradients, in float32 where values have 16 bits.
void record_gradient(GradContext& c) {
  const auto& d = c.descriptor<Descriptor>();
  const DType wide = dtype_of_sums(c.input(0).dtype());
  const Tensor x = cast(c.input(0), wide), g = cast(c.grad(), wide);
  std::vector<int> axes(static_cast<size_t>(d.axes));
  std::iota(axes.begin(), axes.end(), x.rank() - d.axes);
  const Tensor distance = d.centered ? x - mean(x, axes, true) : x;
  const Tensor inverse = rsqrt(mean(distance * distance, axes, true) + d.epsilon);
  const Tensor x_hat = distance * inverse;
  const Tensor slope = d.has_gamma ? g * cast(c.input(1), wide) : g;
  if (c.needs(0)) {
    const Tensor around = d.centered ? slope - mean(slope, axes, true) : slope;
    c.set(0, cast(inverse * (around - x_hat * mean(slope * x_hat, axes, true)), c.input(0).dtype()));
  }
  if (d.has_gamma && c.needs(1)) c.set(1, sum_to_shape(g * x_hat, c.input(1).shape()));
  const size_t beta = d.has_gamma ? 2 : 1;
  if (d.has_beta && c.needs(beta)) c.set(beta, sum_to_shape(g, c.input(beta).shape()));
}

void gradient(GradContext& c) {
  if (c.records()) return record_gradient(c);
  const auto& d = c.descriptor<Descriptor>();
  std::vector<const Tensor*> inputs{&c.grad(), &c.input(0), &c.output(1)};
  if (d.has_gamma) inputs.push_back(&c.input(1));
  std::array<Tensor, 2> gradients;
  dispatch(kLayerNormalizationBackward, d, inputs, gradients);
  if (c.needs(0)) c.set(0, gradients[0]);
  if (d.has_gamma && c.needs(1)) c.set(1, gradients[1].rows(1, 1).with_shape(c.input(1).shape()));
  const size_t beta = d.has_gamma ? 2 : 1;
  if (d.has_beta && c.needs(beta)) c.set(beta, gradients[1].rows(0, 1).with_shape(c.input(beta).shape()));
}

Tensor normalized(const Tensor& x, const Tensor& gamma, const Tensor& beta, Descriptor d) {
  d.has_gamma = gamma.defined();
  d.has_beta = beta.defined();
  std::vector<const Tensor*> inputs{&x};
  if (d.has_gamma) inputs.push_back(&gamma);
  if (d.has_beta) inputs.push_back(&beta);
  std::array<Tensor, 2> outputs;
  dispatch(kLayerNormalization, d, inputs, outputs);
  return outputs[0];
}

}  // namespace

const OpDef kLayerNormalization = {.name = "layer_normalization",
                                   .num_outputs = 2,
                                   .infer = infer_layer_forward,
                                   .gradient = gradient,
                                   .keep_inputs = keep(0, 1),
                                   .keep_outputs = keep(1),
                                   .reference = layer_forward_reference,
                                   .twice_differentiable = true};
const OpDef kLayerNormalizationBackward = {.name = "layer_normalization_backward",
                                           .num_outputs = 2,
                                           .infer = infer_layer_backward,
                                           .reference = layer_backward_reference};

Tensor layer_normalization(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           const LayerNormalizationOptions& options) {
  return normalized(x, gamma, beta, {.epsilon = options.epsilon, .axes = options.axes});
}

Tensor rms_normalization(const Tensor& x, const Tensor& scale, const LayerNormalizationOptions& options) {
  return normalized(x, scale, {}, {.epsilon = options.epsilon, .axes = options.axes, .centered = false});
}

}  // namespace nyala::ops
