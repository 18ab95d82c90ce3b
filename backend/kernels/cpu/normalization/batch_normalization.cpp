// Ioffe and Szegedy 2015. Moments: each run (about 16384 floats, more with many channels) takes its mean and
// then the squares around it while it is in the cache, and runs are merged in their order by the formula of
// Chan, Golub and LeVeque (1979): memory is read once, and nothing cancels as in E[x^2] - E[x]^2. All passes
// are affine functions of a channel in the end: y = scale * x + offset, dx = scale * g + by_x * x + constant,
// with the factors computed in double. Where a fused relu was open is computed again from x; neither y nor a
// mask is kept. 16-bit floats are widened part by part; statistics and parameters are float32 then.
#include <cmath>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
#include <nyala/backend/kernels/cpu/elementwise/channel_runs.h>
#include <nyala/backend/kernels/cpu/normalization/batch_normalization.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/batch_normalization.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using LoopsOf = const PeriodicLoops& (*)();
using Run = PeriodicLoops::Run;

constexpr int64_t kBuffer = PeriodicLoops::kMaxPeriod;

/// The activations stand first, behind the gradient where there is one.
size_t place_of_activations(const KernelCall& call) {
  return call.op == &ops::kBatchNormalizationSums || call.op == &ops::kBatchNormalizationBackward ? 1 : 0;
}

const Tensor& activations_of(const KernelCall& call) { return call.input(place_of_activations(call)); }

ChannelRuns runs_of(const KernelCall& call) {
  const Tensor& x = activations_of(call);
  return {x.num_elements(), x.shape().back()};
}

const char* unsupported_reason(const KernelCall& call) {
  const size_t x = place_of_activations(call);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const DType dtype = call.input(i).dtype();
    if (i <= x ? !is_narrow_float(dtype) || dtype != call.input(x).dtype() : dtype != DType::float32)
      return "float32 only, or 16-bit floats beside float32 statistics and parameters";
  }
  return runs_of(call).possible() ? nullptr : "too many channels that are no multiple of 16";
}

/// Values of one channel that normalization and its gradient are made of.
struct Channel {
  double mean, inverse_deviation, gamma, beta;
  double scale() const { return gamma * inverse_deviation; }
  double offset() const { return beta - mean * scale(); }
};

/// Reads the channels of a call whose gamma and beta stand from input `first` on.
class Channels {
 public:
  Channels(const KernelCall& call, const float* mean, const float* variance, size_t first)
      : mean_(mean), variance_(variance) {
    const auto& d = call.descriptor<ops::BatchNormalizationDescriptor>();
    epsilon_ = d.epsilon;
    if (d.has_gamma) gamma_ = call.in<float>(first++);
    if (d.has_beta) beta_ = call.in<float>(first);
  }
  /// From statistics (count, mean, variance).
  Channels(const KernelCall& call, const float* statistics, int64_t channels, size_t first)
      : Channels(call, statistics + 1, statistics + 1 + channels, first) {}

  Channel operator()(int64_t c) const {
    return {static_cast<double>(mean_[c]), 1.0 / std::sqrt(static_cast<double>(variance_[c]) + epsilon_),
            gamma_ ? static_cast<double>(gamma_[c]) : 1.0, beta_ ? static_cast<double>(beta_[c]) : 0.0};
  }

 private:
  const float* mean_;
  const float* variance_;
  const float* gamma_ = nullptr;
  const float* beta_ = nullptr;
  double epsilon_ = 0.0;
};

/// Of three loops that for the call's activation: linear, relu or relu6.
template <class Loop>
Loop loop_of(const KernelCall& call, Loop linear, Loop relu, Loop relu6) {
  const auto activation = call.descriptor<ops::BatchNormalizationDescriptor>().activation;
  return activation == ops::Activation::relu ? relu : activation == ops::Activation::relu6 ? relu6 : linear;
}

// ---- moments: per run the mean, then the squares around it while the run is in the cache; runs merged in
// order

size_t moments_workspace(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  const int64_t floats = runs.pieces() * (2 * runs.period() + 2 * runs.channels());
  return static_cast<size_t>(floats) * sizeof(float);
}

void merge_runs(const ChannelRuns& runs, const float* partial, int64_t count, float* moments) {
  const int64_t channels = runs.channels(), rows = count / channels;
  moments[0] = static_cast<float>(rows);
  for (int64_t c = 0; c < channels; ++c) {
    double mean = 0.0, squares = 0.0, n = 0.0;
    for (int64_t piece = 0; piece < runs.pieces(); ++piece) {
      const float* other = partial + piece * 2 * channels;
      const double rest = static_cast<double>(rows) - n;
      const double own = piece + 1 < runs.pieces() ? static_cast<double>(runs.run_rows()) : rest;
      const double distance = static_cast<double>(other[c]) - mean;
      squares += static_cast<double>(other[channels + c]) + distance * distance * n * own / (n + own);
      mean += distance * own / (n + own);
      n += own;
    }
    moments[1 + c] = static_cast<float>(mean);
    moments[1 + channels + c] = static_cast<float>(squares);
  }
}

template <LoopsOf kLoops>
void moments(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  const int64_t channels = runs.channels(), period = runs.period();
  float* partial = call.workspace.raw_as<float>();
  float* scratch = partial + runs.pieces() * 2 * channels;
  const WideInput x(call.input(0));
  runs.for_each([&](int64_t piece, int64_t first, Run run) {
    float* own = partial + piece * 2 * channels;
    float* sums = scratch + piece * 2 * period;
    float* means = sums + period;
    const double rows = static_cast<double>(run.count / channels);
    sum_parts<1>(x.is_widened(), run, sums, [&](int64_t at, Run part, float* out) {
      float wide[kBuffer];
      kLoops().sums(part, x.read(first + at, part.count, wide), out);
    });
    for (int64_t c = 0; c < channels; ++c) own[c] = static_cast<float>(runs.fold(sums, c) / rows);
    runs.expand(means, [&](int64_t c) { return own[c]; });
    sum_parts<1>(x.is_widened(), run, sums, [&](int64_t at, Run part, float* out) {
      float wide[kBuffer];
      kLoops().square_sums(part, x.read(first + at, part.count, wide), means, out);
    });
    for (int64_t c = 0; c < channels; ++c) own[channels + c] = static_cast<float>(runs.fold(sums, c));
  });
  merge_runs(runs, partial, call.input(0).num_elements(), call.out<float>(0));
}

// ---- forward

size_t forward_workspace(const KernelCall& call) {
  return static_cast<size_t>(2 * runs_of(call).period()) * sizeof(float);
}

template <LoopsOf kLoops>
void forward_with(const KernelCall& call, const Channels& channels) {
  const ChannelRuns runs = runs_of(call);
  float* scale = call.workspace.raw_as<float>();
  float* offset = scale + runs.period();
  runs.expand(scale, [&](int64_t c) { return channels(c).scale(); });
  runs.expand(offset, [&](int64_t c) { return channels(c).offset(); });
  const auto loop = loop_of(call, kLoops().affine, kLoops().affine_relu, kLoops().affine_relu6);
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  runs.for_each([&](int64_t, int64_t piece, Run run) {
    for_each_part(x.is_widened(), run, [&](int64_t at, Run part) {
      float wide[kBuffer], results[kBuffer];
      const int64_t first = piece + at;
      float* place = y.place(first, results);
      loop(part, x.read(first, part.count, wide), scale, offset, place);
      y.write(first, part.count, place);
    });
  });
}

template <LoopsOf kLoops>
void forward(const KernelCall& call) {
  forward_with<kLoops>(call, Channels(call, call.in<float>(1), call.input(0).shape().back(), 2));
}

template <LoopsOf kLoops>
void apply(const KernelCall& call) {
  forward_with<kLoops>(call, Channels(call, call.in<float>(1), call.in<float>(2), 3));
}

// ---- gradients

size_t sums_workspace(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  return static_cast<size_t>((3 + 2 * runs.pieces()) * runs.period()) * sizeof(float);
}

/// Expands scale, offset and mean into `space` (three periods).
PeriodicLoops::Gradient expand_gradient(const ChannelRuns& runs, const Channels& channels, float* space) {
  float* offset = space + runs.period();
  float* mean = offset + runs.period();
  runs.expand(space, [&](int64_t c) { return channels(c).scale(); });
  runs.expand(offset, [&](int64_t c) { return channels(c).offset(); });
  runs.expand(mean, [&](int64_t c) { return channels(c).mean; });
  return {nullptr, nullptr, space, offset, mean};
}

/// The gradient and x of a part, and the buffers that they are widened into.
class GradientPart {
 public:
  GradientPart(const KernelCall& call) : dy_(call.input(0)), x_(call.input(1)) {}

  bool is_widened() const { return x_.is_widened(); }
  struct Buffers {
    float dy[kBuffer], x[kBuffer];
  };
  PeriodicLoops::Gradient at(PeriodicLoops::Gradient in, int64_t first, int64_t count, Buffers& wide) const {
    in.dy = dy_.read(first, count, wide.dy);
    in.x = x_.read(first, count, wide.x);
    return in;
  }

 private:
  WideInput dy_, x_;
};

template <LoopsOf kLoops>
void gradient_sums(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  const int64_t period = runs.period(), channels = runs.channels();
  const Channels of(call, call.in<float>(2), channels, 3);
  float* space = call.workspace.raw_as<float>();
  float* partial = space + 3 * period;
  const PeriodicLoops::Gradient in = expand_gradient(runs, of, space);
  const auto loop =
      loop_of(call, kLoops().gradient_sums, kLoops().gradient_sums_relu, kLoops().gradient_sums_relu6);
  const GradientPart values(call);
  runs.for_each([&](int64_t piece, int64_t first, Run run) {
    sum_parts<2>(values.is_widened(), run, partial + piece * 2 * period,
                 [&](int64_t at, Run part, float* out) {
                   GradientPart::Buffers wide;
                   loop(part, values.at(in, first + at, part.count, wide), out, out + period);
                 });
  });
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0.0, product = 0.0;
    for (int64_t piece = 0; piece < runs.pieces(); ++piece) {
      sum += runs.fold(partial + piece * 2 * period, c);
      product += runs.fold(partial + (piece * 2 + 1) * period, c);
    }
    call.out<float>(0)[c] = static_cast<float>(sum);
    call.out<float>(0)[channels + c] = static_cast<float>(product * of(c).inverse_deviation);
  }
}

size_t backward_workspace(const KernelCall& call) {
  return static_cast<size_t>(5 * runs_of(call).period()) * sizeof(float);
}

/// dx = scale * (g - sum / n - x_hat * product / n), written as scale * g + by_x * x + constant.
template <LoopsOf kLoops>
void backward(const KernelCall& call) {
  const ChannelRuns runs = runs_of(call);
  const int64_t period = runs.period(), channels = runs.channels();
  const Channels of(call, call.in<float>(2), channels, 4);
  const double count = static_cast<double>(call.in<float>(2)[0]);
  const float* sums = call.in<float>(3);
  float* space = call.workspace.raw_as<float>();
  const PeriodicLoops::Gradient in = expand_gradient(runs, of, space);
  float* by_x = space + 3 * period;
  float* constant = by_x + period;
  auto slope = [&](int64_t c) {
    const Channel channel = of(c);
    return -channel.scale() * channel.inverse_deviation * static_cast<double>(sums[channels + c]) / count;
  };
  runs.expand(by_x, slope);
  runs.expand(constant, [&](int64_t c) {
    return -of(c).scale() * static_cast<double>(sums[c]) / count - slope(c) * of(c).mean;
  });
  const auto loop =
      loop_of(call, kLoops().gradient_input, kLoops().gradient_input_relu, kLoops().gradient_input_relu6);
  const GradientPart values(call);
  const WideOutput dx(call.output(0));
  runs.for_each([&](int64_t, int64_t piece, Run run) {
    for_each_part(values.is_widened(), run, [&](int64_t at, Run part) {
      GradientPart::Buffers wide;
      float results[kBuffer];
      const int64_t first = piece + at;
      float* place = dx.place(first, results);
      loop(part, values.at(in, first, part.count, wide), by_x, constant, place);
      dx.write(first, part.count, place);
    });
  });
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  const auto kernel = [&](const OpDef& op, size_t (*workspace)(const KernelCall&),
                          void (*run)(const KernelCall&)) {
    table.add(op, DeviceKind::cpu, {name, unsupported_reason, workspace, run, true});
  };
  kernel(ops::kBatchMoments, moments_workspace, moments<kLoops>);
  kernel(ops::kBatchNormalizationForward, forward_workspace, forward<kLoops>);
  kernel(ops::kBatchNormalizationApply, forward_workspace, apply<kLoops>);
  kernel(ops::kBatchNormalizationSums, sums_workspace, gradient_sums<kLoops>);
  kernel(ops::kBatchNormalizationBackward, backward_workspace, backward<kLoops>);
}

}  // namespace

void register_batch_normalization(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<periodic_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<periodic_loops_avx2>(table, "avx2");
}

}  // namespace nyala
