// Training is five small ops instead of one, so that the replicas can meet between them: moments of the own
// rows, their union over replicas (Chan et al. 1979), the affine pass; in backward two sums, their sum over
// replicas, the gradient of x. The tape sees one op, kBatchNormalizationTrain, whose gradient calls the
// others. dx = scale * (g - mean g - x_hat * mean (g * x_hat)), with means over the rows of all replicas.
#include <algorithm>
#include <array>
#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/conv3d.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/runtime/collectives.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

int64_t rows_of(const Shape& x) { return x.back() == 0 ? 0 : x.num_elements() / x.back(); }

/// gamma and beta stand behind the `first` inputs, where the call has them.
const Tensor* gamma_of(const KernelCall& call, size_t first) {
  return call.descriptor<BatchNormalizationDescriptor>().has_gamma ? call.inputs[first] : nullptr;
}
const Tensor* beta_of(const KernelCall& call, size_t first) {
  const auto& d = call.descriptor<BatchNormalizationDescriptor>();
  return d.has_beta ? call.inputs[first + (d.has_gamma ? 1 : 0)] : nullptr;
}

/// What normalises one channel, in double.
struct Channel {
  double mean, inverse_deviation, gamma, beta;
};

template <class T>
Channel channel_of(const KernelCall& call, size_t first, const T* mean, const T* variance, int64_t i) {
  const Tensor* gamma = gamma_of(call, first);
  const Tensor* beta = beta_of(call, first);
  return {static_cast<double>(mean[i]),
          1.0 / std::sqrt(static_cast<double>(variance[i]) +
                          call.descriptor<BatchNormalizationDescriptor>().epsilon),
          gamma ? static_cast<double>(gamma->raw_as<T>()[i]) : 1.0,
          beta ? static_cast<double>(beta->raw_as<T>()[i]) : 0.0};
}

/// The gradient behind the activation: relu lets it pass where its input is positive, relu6 below 6.
double behind_activation(const Channel& channel, Activation activation, double gradient, double x_hat) {
  if (activation == Activation::linear) return gradient;
  const double z = x_hat * channel.gamma + channel.beta;
  return z > 0.0 && (activation == Activation::relu || z < 6.0) ? gradient : 0.0;
}

void check_input(InferContext& c, const Shape& x) {
  if (x.rank() < 2 || x.back() == None)
    c.fail("expected x with at least 2 axes and a known number of channels, received " + x.to_string());
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
}

/// Inputs [first, end) are vectors of `channels` values.
void check_vectors(InferContext& c, size_t first, int64_t channels) {
  for (size_t i = first; i < c.num_inputs(); ++i)
    if (c.shape(i) != Shape{channels} || !is_weight_dtype(c.dtype(i), c.dtype(0)))
      c.fail("expected statistics, gamma and beta of shape (" + std::to_string(channels) + ",) and dtype " +
             std::string(name_of(c.dtype(0))) + ", received " + c.shape(i).to_string() + " " +
             std::string(name_of(c.dtype(i))));
}

void infer_moments(InferContext& c) {
  check_input(c, c.shape(0));
  c.output(0, {1 + 2 * c.shape(0).back()}, dtype_of_sums(c.dtype(0)));
}

void moments_reference(const KernelCall& call) {
  const Shape& shape = call.input(0).shape();
  const int64_t channels = shape.back(), rows = rows_of(shape);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* x = call.in<T>(0);
    T* moments = call.out<T>(0);
    moments[0] = static_cast<T>(rows);
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0.0, squares = 0.0;
      for (int64_t row = 0; row < rows; ++row) sum += x[row * channels + c];
      const double mean = rows > 0 ? sum / static_cast<double>(rows) : 0.0;
      for (int64_t row = 0; row < rows; ++row) {
        const double distance = x[row * channels + c] - mean;
        squares += distance * distance;
      }
      moments[1 + c] = static_cast<T>(mean);
      moments[1 + channels + c] = static_cast<T>(squares);
    }
  });
}

void infer_merge(InferContext& c) {
  if (c.shape(0).rank() != 2)
    c.fail("expected stacked moments (R, 1 + 2C), received " + c.shape(0).to_string());
  c.output(0, {c.shape(0)[1]}, c.dtype(0));
}

void merge_reference(const KernelCall& call) {
  const int64_t parts = call.input(0).shape()[0], width = call.input(0).shape()[1],
                channels = (width - 1) / 2;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for (int64_t c = 0; c < channels; ++c) {
      double count = 0.0, mean = 0.0, squares = 0.0;
      for (int64_t part = 0; part < parts; ++part) {
        const T* other = call.in<T>(0) + part * width;
        const double n = other[0], distance = other[1 + c] - mean;
        if (n == 0.0) continue;
        squares += other[1 + channels + c] + distance * distance * count * n / (count + n);
        mean += distance * n / (count + n);
        count += n;
      }
      const bool divide = call.descriptor<MergeMomentsDescriptor>().variance && count > 0.0;
      call.out<T>(0)[0] = static_cast<T>(count);
      call.out<T>(0)[1 + c] = static_cast<T>(mean);
      call.out<T>(0)[1 + channels + c] = static_cast<T>(divide ? squares / count : squares);
    }
  });
}

/// y from x, one Channel per column; `of(c)` yields it.
template <class T, class Of>
void normalize(const KernelCall& call, Of&& of) {
  const Shape& shape = call.input(0).shape();
  const int64_t channels = shape.back(), rows = rows_of(shape);
  for (int64_t c = 0; c < channels; ++c) {
    const Channel channel = of(c);
    for (int64_t i = c; i < rows * channels; i += channels) {
      const double x_hat = (call.in<T>(0)[i] - channel.mean) * channel.inverse_deviation;
      const double z = x_hat * channel.gamma + channel.beta;
      call.out<T>(0)[i] =
          static_cast<T>(activate(z, call.descriptor<BatchNormalizationDescriptor>().activation));
    }
  }
}

void infer_batch_forward(InferContext& c) {
  check_input(c, c.shape(0));
  check_vectors(c, 2, c.shape(0).back());
  c.output(0, c.shape(0), c.dtype(0));
}

void batch_forward_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* mean = call.in<T>(1) + 1;
    normalize<T>(
        call, [&](int64_t c) { return channel_of(call, 2, mean, mean + call.input(0).shape().back(), c); });
  });
}

void infer_apply(InferContext& c) {
  check_input(c, c.shape(0));
  check_vectors(c, 1, c.shape(0).back());
  c.output(0, c.shape(0), c.dtype(0));
}

void apply_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    normalize<T>(call, [&](int64_t c) { return channel_of(call, 3, call.in<T>(1), call.in<T>(2), c); });
  });
}

void infer_sums(InferContext& c) { c.output(0, {2, c.shape(1).back()}, dtype_of_sums(c.dtype(1))); }

void sums_reference(const KernelCall& call) {
  const int64_t channels = call.input(1).shape().back(), count = call.input(1).num_elements();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* mean = call.in<T>(2) + 1;
    for (int64_t c = 0; c < channels; ++c) {
      const Channel channel = channel_of(call, 3, mean, mean + channels, c);
      double sum = 0.0, product = 0.0;
      for (int64_t i = c; i < count; i += channels) {
        const double x_hat = (call.in<T>(1)[i] - channel.mean) * channel.inverse_deviation;
        const double g = behind_activation(
            channel, call.descriptor<BatchNormalizationDescriptor>().activation, call.in<T>(0)[i], x_hat);
        sum += g;
        product += g * x_hat;
      }
      call.out<T>(0)[c] = static_cast<T>(sum);
      call.out<T>(0)[channels + c] = static_cast<T>(product);
    }
  });
}

void infer_batch_backward(InferContext& c) { c.output(0, c.shape(1), c.dtype(1)); }

void batch_backward_reference(const KernelCall& call) {
  const int64_t channels = call.input(1).shape().back(), size = call.input(1).num_elements();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* mean = call.in<T>(2) + 1;
    const double count = call.in<T>(2)[0];
    for (int64_t c = 0; c < channels; ++c) {
      const Channel channel = channel_of(call, 4, mean, mean + channels, c);
      const double sum = call.in<T>(3)[c] / count, product = call.in<T>(3)[channels + c] / count;
      for (int64_t i = c; i < size; i += channels) {
        const double x_hat = (call.in<T>(1)[i] - channel.mean) * channel.inverse_deviation;
        const double g = behind_activation(
            channel, call.descriptor<BatchNormalizationDescriptor>().activation, call.in<T>(0)[i], x_hat);
        call.out<T>(0)[i] =
            static_cast<T>(channel.gamma * channel.inverse_deviation * (g - sum - x_hat * product));
      }
    }
  });
}

/// The tensors of a call, gamma and beta only where they are.
struct Inputs {
  std::array<const Tensor*, 6> tensors{};
  size_t count = 0;

  Inputs& add(const Tensor& tensor) {
    if (tensor.defined()) tensors[count++] = &tensor;
    return *this;
  }
  TensorPointers span() const { return {tensors.data(), count}; }
};

/// `output`: where the result goes, undefined: memory of its own.
Tensor run(const OpDef& op, const BatchNormalizationDescriptor& descriptor, const Inputs& inputs,
           Tensor output = {}) {
  dispatch(op, descriptor, inputs.span(), std::span(&output, 1));
  return output;
}

void infer_train(InferContext& c) {
  check_input(c, c.shape(0));
  const int64_t channels = c.shape(0).back();
  check_vectors(c, 1, channels);
  c.output(0, c.shape(0), c.dtype(0));
  c.output(1, {1 + 2 * channels}, dtype_of_sums(c.dtype(0)));
}

void train_gradient(GradContext& c) {
  const auto& d = c.descriptor<BatchNormalizationDescriptor>();
  const size_t beta_index = d.has_gamma ? 2 : 1;
  const Tensor gamma = d.has_gamma ? c.input(1) : Tensor();
  const Tensor beta = d.has_beta ? c.input(beta_index) : Tensor();
  const Tensor sums = run(kBatchNormalizationSums, d,
                          Inputs().add(c.grad()).add(c.input(0)).add(c.output(1)).add(gamma).add(beta));
  const Shape channels{sums.shape()[1]};
  if (d.has_gamma && c.needs(1)) c.set(1, sums.rows(1, 1).with_shape(channels));
  if (d.has_beta && c.needs(beta_index)) c.set(beta_index, sums.rows(0, 1).with_shape(channels));
  if (!c.needs(0)) return;
  const bool alone = !d.replica || d.replica->num_replicas() == 1;
  const Tensor all = alone ? sums : d.replica->all_reduce_sum(sums);
  c.set(0, run(kBatchNormalizationBackward, d,
               Inputs().add(c.grad()).add(c.input(0)).add(c.output(1)).add(all).add(gamma).add(beta),
               c.spare_grad(0)));  // element by element: over what it reads
}

/// gamma * g / sqrt(variance + epsilon), by the backward op with sums of 0; gamma and beta from the plain
/// sums.
void apply_gradient(GradContext& c) {
  const auto& d = c.descriptor<BatchNormalizationDescriptor>();
  const size_t beta_index = d.has_gamma ? 4 : 3;
  const Tensor gamma = d.has_gamma ? c.input(3) : Tensor();
  const Tensor beta = d.has_beta ? c.input(beta_index) : Tensor();
  const int64_t channels = c.input(0).shape().back();
  const DType dtype = dtype_of_sums(c.input(0).dtype());
  const Tensor statistics = Tensor::full({1 + 2 * channels}, 1.0, dtype, c.input(0).device());
  const Shape one{channels};
  statistics.rows(1, channels).copy_from(cast(c.input(1), dtype));
  statistics.rows(1 + channels, channels).copy_from(cast(c.input(2), dtype));
  if ((d.has_gamma && c.needs(3)) || (d.has_beta && c.needs(beta_index))) {
    const Tensor sums = run(kBatchNormalizationSums, d,
                            Inputs().add(c.grad()).add(c.input(0)).add(statistics).add(gamma).add(beta));
    if (d.has_gamma && c.needs(3)) c.set(3, sums.rows(1, 1).with_shape(one));
    if (d.has_beta && c.needs(beta_index)) c.set(beta_index, sums.rows(0, 1).with_shape(one));
  }
  if (!c.needs(0)) return;
  const Tensor none = Tensor::zeros({2, channels}, statistics.dtype(), statistics.device());
  c.set(0, run(kBatchNormalizationBackward, d,
               Inputs().add(c.grad()).add(c.input(0)).add(statistics).add(none).add(gamma).add(beta),
               c.spare_grad(0)));
}

/// The forward pass on what the tape keeps: x, gamma, beta, only the shape of y, the statistics.
Tensor recompute_output(const void* descriptor, std::span<const Tensor> kept) {
  const auto& d = *static_cast<const BatchNormalizationDescriptor*>(descriptor);
  Inputs inputs = Inputs().add(kept[0]).add(kept.back());
  for (const Tensor& parameter : kept.subspan(1, kept.size() - 3)) inputs.add(parameter);
  return run(kBatchNormalizationForward, d, inputs);
}

/// Whether making y again costs little beside what made x: by the shape of a kernel alone.
bool is_cheap(Tape& tape, const Tensor& x) {
  const TapeEntry* maker = x.tape() == &tape ? tape.maker_of(x.value_id()) : nullptr;
  if (!maker || (maker->op != &kConv2D && maker->op != &kConv3D && maker->op != &kDense)) return false;
  const Shape& kernel = tape.tensors()[maker->first_tensor + 1].shape();
  return kernel.back() > 0 && kernel.num_elements() / kernel.back() >= kCheapRecompute;
}

BatchNormalizationDescriptor describe(const BatchNormalizationOptions& options, const Tensor& gamma,
                                      const Tensor& beta) {
  if (options.activation == Activation::sigmoid || options.activation == Activation::tanh)
    throw InvalidArgumentError("batch_normalization: expected activation linear, relu or relu6");
  return {options.epsilon, options.replica, options.activation, gamma.defined(), beta.defined()};
}

Tensor merge(const Tensor& stack, bool variance) {
  return dispatch(kMergeMoments, MergeMomentsDescriptor{variance}, {&stack});
}

/// Statistics (count, mean, variance) of the rows of all replicas.
Tensor global_statistics(const Tensor& x, Collectives* replica) {
  const Tensor moments = batch_moments(x);
  if (replica && replica->num_replicas() > 1) return merge(replica->all_gather(moments), true);
  return merge(moments.with_shape({1, moments.shape()[0]}), true);
}

}  // namespace

const OpDef kBatchMoments = {.name = "batch_moments", .infer = infer_moments, .reference = moments_reference};
const OpDef kMergeMoments = {.name = "merge_moments", .infer = infer_merge, .reference = merge_reference};
const OpDef kBatchNormalizationForward = {.name = "batch_normalization_forward",
                                          .infer = infer_batch_forward,
                                          .reference = batch_forward_reference};
const OpDef kBatchNormalizationSums = {
    .name = "batch_normalization_sums", .infer = infer_sums, .reference = sums_reference};
const OpDef kBatchNormalizationBackward = {.name = "batch_normalization_backward",
                                           .infer = infer_batch_backward,
                                           .reference = batch_backward_reference};
const OpDef kBatchNormalizationTrain = {.name = "batch_normalization_train",
                                        .num_outputs = 2,
                                        .infer = infer_train,
                                        .gradient = train_gradient,
                                        .keep_inputs = kKeepAll,
                                        .keep_outputs = keep(1),
                                        .reference = {},
                                        .recompute = recompute_output};
const OpDef kBatchNormalizationApply = {.name = "batch_normalization",
                                        .infer = infer_apply,
                                        .gradient = apply_gradient,
                                        .keep_inputs = kKeepAll,
                                        .reference = apply_reference};

Tensor batch_moments(const Tensor& x) { return dispatch(kBatchMoments, NoDescriptor{}, {&x}); }

Tensor merge_moments(const Tensor& stack) { return merge(stack, false); }

BatchNormalizationResult detail::batch_normalization_train(const Tensor& given, const Tensor& scale,
                                                           const Tensor& offset,
                                                           const BatchNormalizationOptions& options) {
  const Tensor x = on_guarded_device(given), gamma = on_guarded_device(scale),
               beta = on_guarded_device(offset);
  const BatchNormalizationDescriptor descriptor = describe(options, gamma, beta);
  const Inputs inputs = Inputs().add(x).add(gamma).add(beta);
  const int64_t channels = x.shape().back();
  std::array<Tensor, 2> outputs;
  if (x.is_abstract()) {
    dispatch(kBatchNormalizationTrain, descriptor, inputs.span(), outputs);
    const Tensor vector = Tensor::abstract({channels}, dtype_of_sums(x.dtype()), x.device());
    return {outputs[0], vector, vector};
  }
  outputs[1] = global_statistics(x, options.replica);
  outputs[0] =
      run(kBatchNormalizationForward, descriptor, Inputs().add(x).add(outputs[1]).add(gamma).add(beta));
  const Tensor mean = outputs[1].rows(1, channels), variance = outputs[1].rows(1 + channels, channels);
  if (Tape* tape = recording_tape(inputs.span())) {
    tape->record(kBatchNormalizationTrain, descriptor, inputs.span(), outputs);
    tape->values()[outputs[0].value_id()].recomputed =
        options.recompute ? *options.recompute : is_cheap(*tape, x);
  }
  return {outputs[0], mean, variance};
}

Tensor batch_normalization_apply(const Tensor& x, const BatchNormalizationParameters& p,
                                 const BatchNormalizationOptions& options) {
  return run(kBatchNormalizationApply, describe(options, p.gamma, p.beta),
             Inputs().add(x).add(p.mean).add(p.variance).add(p.gamma).add(p.beta));
}

}  // namespace nyala::ops
