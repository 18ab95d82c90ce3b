// Keras' losses on TensorFlow with its epsilon and its order of clipping. From logits nothing is clipped:
// log(sum(exp)) with the largest logit taken out, and max(x, 0) - x t + log1p(exp(-|x|)) for two classes,
// which overflow nowhere. From probabilities the gradient is 0 where clipping bites, as Keras' is.
#include <algorithm>
#include <cmath>
#include <limits>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()

/// Keras clips in the dtype of the output: in float32 1 - 1e-7 rounds to 1 - 1.19e-7.
template <class T>
constexpr T kLowest = static_cast<T>(kEpsilon);
template <class T>
constexpr T kHighest = T(1) - static_cast<T>(kEpsilon);

template <class T>
T clipped(T p) {
  return std::min(std::max(p, kLowest<T>), kHighest<T>);
}

/// The gradient of clipping: 1 within the bounds, 0 outside.
template <class T>
T passes(T p) {
  return p >= kLowest<T> && p <= kHighest<T> ? T(1) : T(0);
}

void check_output(InferContext& c, const Shape& output, DType dtype) {
  if (output.rank() < 1 || !is_floating(dtype))
    c.fail("expected output (..., classes) of a floating dtype, received " + output.to_string() + " " +
           std::string(name_of(dtype)));
}

void infer_sparse(InferContext& c) {
  const Shape& output = c.shape(0);
  check_output(c, output, c.dtype(0));
  const Shape rows = output.slice(0, output.rank() - 1);
  if (!matches(c.shape(1), rows) && !matches(rows, c.shape(1)))
    c.fail("expected target of shape " + rows.to_string() + " for output " + output.to_string() +
           ", received " + c.shape(1).to_string());
  c.output(0, rows, c.dtype(0));
}

void infer_like_output(InferContext& c) { c.output(0, c.shape(1), c.dtype(1)); }

/// log(sum(exp(x))) of one row, its largest value taken out.
template <class T>
T log_sum_exp(const T* x, int64_t classes) {
  const T largest = *std::max_element(x, x + classes);
  T sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += std::exp(x[i] - largest);
  return largest + std::log(sum);
}

template <class T>
T sum_clipped(const T* p, int64_t classes) {
  T sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += clipped(p[i]);
  return sum;
}

void sparse_reference(const KernelCall& call) {
  const auto& d = call.descriptor<SparseCrossentropyDescriptor>();
  const int64_t classes = call.input(0).shape().back(), rows = call.output(0).num_elements();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = call.in<T>(0) + row * classes;
      const SparseLabel label(d, call.input(1), row, classes);
      T& loss = call.out<T>(0)[row];
      if (!label.valid())
        loss = static_cast<T>(label.report(*call.inputs.back()));
      else if (d.from_logits)
        loss = log_sum_exp(x, classes) - x[label.index()];
      else
        loss = std::log(sum_clipped(x, classes)) - std::log(clipped(x[label.index()]));
    }
  });
}

void sparse_backward_reference(const KernelCall& call) {
  const auto& d = call.descriptor<SparseCrossentropyDescriptor>();
  const int64_t classes = call.input(1).shape().back(), rows = call.input(0).num_elements();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = call.in<T>(1) + row * classes;
      T* dx = call.out<T>(0) + row * classes;
      const T g = call.in<T>(0)[row];
      const SparseLabel label(d, call.input(2), row, classes);
      std::fill_n(dx, classes, T(0));
      if (!label.valid()) continue;
      const T own = x[label.index()],
              total = d.from_logits ? log_sum_exp(x, classes) : sum_clipped(x, classes);
      for (int64_t i = 0; i < classes; ++i)
        dx[i] = d.from_logits ? g * std::exp(x[i] - total) : g * passes(x[i]) / total;
      dx[label.index()] -= d.from_logits ? g : g * passes(own) / clipped(own);
    }
  });
}

void sparse_gradient(GradContext& c) {
  c.emit(0, kSparseCategoricalCrossentropyBackward, c.descriptor<SparseCrossentropyDescriptor>(),
         {&c.grad(), &c.input(0), &c.input(1)});
}

void infer_same_shapes(InferContext& c) {
  check_output(c, c.shape(0), c.dtype(0));
  if (!matches(c.shape(1), c.shape(0)) && !matches(c.shape(0), c.shape(1)))
    c.fail("expected target and output of one shape, received " + c.shape(1).to_string() + " and " +
           c.shape(0).to_string());
  if (c.dtype(1) != c.dtype(0))
    c.fail("expected target and output of one dtype, received " + std::string(name_of(c.dtype(1))) + " and " +
           std::string(name_of(c.dtype(0))));
}

void infer_categorical(InferContext& c) {
  infer_same_shapes(c);
  c.output(0, c.shape(0).slice(0, c.shape(0).rank() - 1), c.dtype(0));
}

void infer_binary(InferContext& c) {
  infer_same_shapes(c);
  c.output(0, c.shape(0), c.dtype(0));
}

template <class T>
T sum_of(const T* values, int64_t count) {
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}

/// target * (1 - smoothing) + smoothing / parts.
template <class T>
struct Smoothing {
  T factor, offset;
  Smoothing(const CrossentropyDescriptor& d, int64_t parts)
      : factor(static_cast<T>(1.0 - d.label_smoothing)),
        offset(static_cast<T>(d.label_smoothing / static_cast<double>(parts))) {}
  T operator()(T target) const { return target * factor + offset; }
};

void categorical_reference(const KernelCall& call) {
  const auto& d = call.descriptor<CrossentropyDescriptor>();
  const int64_t classes = call.input(0).shape().back(), rows = call.output(0).num_elements();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const Smoothing<T> smooth(d, classes);
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = call.in<T>(0) + row * classes;
      const T* target = call.in<T>(1) + row * classes;
      const T total = classes == 0 ? T(0) : d.from_logits ? log_sum_exp(x, classes) : sum_of(x, classes);
      T loss = 0;
      for (int64_t i = 0; i < classes; ++i)
        loss += smooth(target[i]) * (d.from_logits ? total - x[i] : -std::log(clipped(x[i] / total)));
      call.out<T>(0)[row] = loss;
    }
  });
}

/// Of the probabilities p / sum(p): -t / q where q = clipped(p / sum) passes, minus what the division shares
/// out.
template <class T>
void categorical_probability_row(const T* p, const T* target, const Smoothing<T>& smooth, T* dx,
                                 int64_t classes) {
  const T total = sum_of(p, classes);
  T shared = 0;
  for (int64_t i = 0; i < classes; ++i) {
    const T q = p[i] / total;
    dx[i] = -smooth(target[i]) * passes(q) / clipped(q);
    shared += dx[i] * q;
  }
  for (int64_t i = 0; i < classes; ++i) dx[i] = (dx[i] - shared) / total;
}

template <class T>
void categorical_logit_row(const T* x, const T* target, const Smoothing<T>& smooth, T* dx, int64_t classes) {
  const T total = log_sum_exp(x, classes);
  T weight = 0;
  for (int64_t i = 0; i < classes; ++i) weight += smooth(target[i]);
  for (int64_t i = 0; i < classes; ++i) dx[i] = weight * std::exp(x[i] - total) - smooth(target[i]);
}

void categorical_backward_reference(const KernelCall& call) {
  const auto& d = call.descriptor<CrossentropyDescriptor>();
  const int64_t classes = call.input(1).shape().back(), rows = call.input(0).num_elements();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const Smoothing<T> smooth(d, classes);
    for (int64_t row = 0; row < rows; ++row) {
      const T* x = call.in<T>(1) + row * classes;
      const T* target = call.in<T>(2) + row * classes;
      T* dx = call.out<T>(0) + row * classes;
      (d.from_logits ? categorical_logit_row<T> : categorical_probability_row<T>)(x, target, smooth, dx,
                                                                                  classes);
      for (int64_t i = 0; i < classes; ++i) dx[i] *= call.in<T>(0)[row];
    }
  });
}

void categorical_gradient(GradContext& c) {
  c.emit(0, kCategoricalCrossentropyBackward, c.descriptor<CrossentropyDescriptor>(),
         {&c.grad(), &c.input(0), &c.input(1)});
}

void binary_reference(const KernelCall& call) {
  const auto& d = call.descriptor<CrossentropyDescriptor>();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const Smoothing<T> smooth(d, 2);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i) {
      const T x = call.in<T>(0)[i], target = smooth(call.in<T>(1)[i]);
      call.out<T>(0)[i] =
          d.from_logits ? std::max(x, T(0)) - x * target + std::log1p(std::exp(-std::abs(x)))
                        : -target * std::log(clipped(x)) - (T(1) - target) * std::log(T(1) - clipped(x));
    }
  });
}

void binary_backward_reference(const KernelCall& call) {
  const auto& d = call.descriptor<CrossentropyDescriptor>();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const Smoothing<T> smooth(d, 2);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i) {
      const T x = call.in<T>(1)[i], target = smooth(call.in<T>(2)[i]), p = clipped(x);
      const T slope = d.from_logits ? T(1) / (T(1) + std::exp(-x)) - target
                                    : passes(x) * ((T(1) - target) / (T(1) - p) - target / p);
      call.out<T>(0)[i] = call.in<T>(0)[i] * slope;
    }
  });
}

void binary_gradient(GradContext& c) {
  c.emit(0, kBinaryCrossentropyBackward, c.descriptor<CrossentropyDescriptor>(),
         {&c.grad(), &c.input(0), &c.input(1)});
}

}  // namespace

SparseLabel::SparseLabel(const SparseCrossentropyDescriptor& d, const Tensor& target, int64_t row,
                         int64_t classes)
    : row_(row), classes_(classes) {
  value_ = dispatch_arithmetic(target.dtype(), "sparse_categorical_crossentropy",
                               [&]<class L>(L) { return static_cast<double>(target.raw_as<L>()[row]); });
  if (d.ignore && value_ == static_cast<double>(d.ignore_class))
    kind_ = Kind::ignored;
  else if (value_ > -1.0 && value_ < static_cast<double>(classes))
    index_ = static_cast<int64_t>(value_);
  else
    kind_ = Kind::out_of_range;
}

float SparseLabel::report(const Tensor& word) const {
  if (kind_ == Kind::ignored) return 0.0f;
  constexpr double kMost = 9e18;  // of what an int64 holds
  const int64_t value =
      std::abs(value_) <= kMost ? static_cast<int64_t>(value_) : std::numeric_limits<int64_t>::min();
  report_status(word, {StatusCode::label_out_of_range, row_, value, classes_});
  return std::numeric_limits<float>::quiet_NaN();
}

const OpDef kSparseCategoricalCrossentropy = {.name = "sparse_categorical_crossentropy",
                                              .infer = infer_sparse,
                                              .gradient = sparse_gradient,
                                              .keep_inputs = keep(0, 1),
                                              .reference = sparse_reference,
                                              .reports_status = true};
const OpDef kSparseCategoricalCrossentropyBackward = {.name = "sparse_categorical_crossentropy_backward",
                                                      .infer = infer_like_output,
                                                      .reference = sparse_backward_reference};
const OpDef kCategoricalCrossentropy = {.name = "categorical_crossentropy",
                                        .infer = infer_categorical,
                                        .gradient = categorical_gradient,
                                        .keep_inputs = keep(0, 1),
                                        .reference = categorical_reference};
const OpDef kCategoricalCrossentropyBackward = {.name = "categorical_crossentropy_backward",
                                                .infer = infer_like_output,
                                                .reference = categorical_backward_reference};
const OpDef kBinaryCrossentropy = {.name = "binary_crossentropy",
                                   .infer = infer_binary,
                                   .gradient = binary_gradient,
                                   .keep_inputs = keep(0, 1),
                                   .reference = binary_reference};
const OpDef kBinaryCrossentropyBackward = {.name = "binary_crossentropy_backward",
                                           .infer = infer_like_output,
                                           .reference = binary_backward_reference};

Tensor sparse_categorical_crossentropy(const Tensor& target, const Tensor& output,
                                       const SparseCategoricalCrossentropyOptions& options) {
  const bool extra_axis = target.rank() == output.rank() && target.rank() > 0 && target.shape().back() == 1;
  const Tensor labels =
      (extra_axis ? target.with_shape(target.shape().slice(0, target.rank() - 1)) : target).detached();
  return dispatch(kSparseCategoricalCrossentropy,
                  SparseCrossentropyDescriptor{options.ignore_class, options.ignore, options.from_logits},
                  {&output, &labels});
}

Tensor categorical_crossentropy(const Tensor& target, const Tensor& output,
                                const CrossentropyOptions& options) {
  return dispatch(kCategoricalCrossentropy,
                  CrossentropyDescriptor{options.label_smoothing, options.from_logits}, {&output, &target});
}

Tensor binary_crossentropy(const Tensor& target, const Tensor& output, const CrossentropyOptions& options) {
  return dispatch(kBinaryCrossentropy, CrossentropyDescriptor{options.label_smoothing, options.from_logits},
                  {&output, &target});
}

}  // namespace nyala::ops
