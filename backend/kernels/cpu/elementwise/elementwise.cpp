// One loop per formula and kind of CPU over contiguous runs; the formulas are in elementwise_vector.h, exp
// and tanh in vector_lanes.h. A broadcast pair becomes as few axes as possible (broadcast_plan.h) and is
// walked by runs in which each input advances by one or stands still. A short row (a bias) is repeated into 4
// KiB first, so that few channels still make long loops. Cheap loops run at the speed of memory: pieces are
// large. 16-bit floats are widened a tile at a time (wide_runs.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include <nyala/backend/kernels/cpu/base/broadcast_plan.h>
#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
#include <nyala/backend/kernels/cpu/elementwise/elementwise.h>
#include <nyala/backend/kernels/cpu/elementwise/elementwise_loops.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/elementwise/activation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using Loops = ElementwiseLoops;
using LoopsOf = const Loops& (*)();
struct TwoFloats {
  float values[2];
};

// Pieces that are worth a second thread: cheap loops run at the speed of memory.
constexpr int64_t kGrain = 65536;
constexpr int64_t kSlowGrain = 32768;
constexpr int64_t kRepeated = kWideRun;  // floats of a short row, repeated so that loops are long

const char* unsupported_other_dtypes(const KernelCall& call) {
  if (!is_narrow_float(call.output(0).dtype())) return "the result is not float32";
  for (const Tensor* input : call.inputs)
    if (!is_narrow_float(input->dtype())) return "an input is not float32";
  return nullptr;
}

/// One input is a short row: it is repeated into a buffer, so that few channels make long loops.
void run_repeated(const KernelCall& call, const BroadcastPlan& plan, Loops::Binary loop) {
  const int64_t row = plan.run(), step = kRepeated / row * row;
  const bool a_repeats = plan.a_repeats();
  const WideInput short_input(call.input(a_repeats ? 0 : 1)), whole(call.input(a_repeats ? 1 : 0));
  const WideOutput y(call.output(0));
  const int64_t grain = kGrain / step * step;
  parallel_for(plan.count(), grain, [&](int64_t begin, int64_t end) {
    float repeated[kRepeated], wide[kRepeated], results[kRepeated];
    const float* short_row = short_input.read(0, row, wide);
    for (int64_t i = 0; i < std::min(step, end - begin); ++i) repeated[i] = short_row[i % row];
    for (int64_t i = begin; i < end; i += step) {
      const int64_t count = std::min(step, end - i);
      const float* x = whole.read(i, count, wide);
      float* place = y.place(i, results);
      a_repeats ? loop(repeated, x, place, count) : loop(x, repeated, place, count);
      y.write(i, count, place);
    }
  });
}

bool is_repeated(const BroadcastPlan& plan) {
  return plan.run() <= kRepeated / 4 && (plan.a_repeats() || plan.b_repeats());
}

const char* unsupported_short_runs(const KernelCall& call) {
  if (const char* reason = unsupported_other_dtypes(call)) return reason;
  const BroadcastPlan plan(call.input(0).shape(), call.input(1).shape(), call.output(0).shape());
  return plan.rank() > 1 && plan.run() < 8 && !is_repeated(plan)
             ? "runs along the last axis are shorter than 8"
             : nullptr;
}

template <LoopsOf loops_of, Loops::BinaryLoops Loops::*member>
void run_binary(const KernelCall& call) {
  const BroadcastPlan plan(call.input(0).shape(), call.input(1).shape(), call.output(0).shape());
  const Loops::BinaryLoops& loops = loops_of().*member;
  if (is_repeated(plan)) return run_repeated(call, plan, loops.both);
  const Loops::Binary loop = !plan.a_advances()   ? loops.scalar_a
                             : !plan.b_advances() ? loops.scalar_b
                                                  : loops.both;
  const WideInput a(call.input(0)), b(call.input(1));
  const WideOutput y(call.output(0));
  const bool wide = has_half(call), a_advances = plan.a_advances(), b_advances = plan.b_advances();
  parallel_for(plan.count(), kGrain, [&](int64_t begin, int64_t end) {
    plan.for_each_run(begin, end, [&](int64_t ia, int64_t ib, int64_t i, int64_t size) {
      for_each_tile(wide, 0, size, [&](int64_t at, int64_t count) {
        float wide_a[kWideRun], wide_b[kWideRun], results[kWideRun];
        float* place = y.place(i + at, results);
        loop(a_advances ? a.read(ia + at, count, wide_a) : a.read(ia, 1, wide_a),
             b_advances ? b.read(ib + at, count, wide_b) : b.read(ib, 1, wide_b), place, count);
        y.write(i + at, count, place);
      });
    });
  });
}

template <LoopsOf loops_of>
void run_add_in_place(const KernelCall& call) {
  const WideInput x(call.input(0)), sum(call.output(0));
  const WideOutput y(call.output(0));
  const bool wide = has_half(call);
  parallel_for(call.output(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_tile(wide, begin, end, [&](int64_t first, int64_t count) {
      float wide_x[kWideRun], wide_sum[kWideRun];
      float* place = y.place(first, wide_sum);
      loops_of().add.both(sum.read(first, count, wide_sum), x.read(first, count, wide_x), place, count);
      y.write(first, count, place);
    });
  });
}

TwoFloats no_parameters(const KernelCall&) { return {}; }
TwoFloats affine_parameters(const KernelCall& call) {
  const auto& d = call.descriptor<ops::AffineDescriptor>();
  return {{static_cast<float>(d.scale), static_cast<float>(d.offset)}};
}
TwoFloats relu_parameters(const KernelCall& call) {
  const auto& d = call.descriptor<ops::ReluDescriptor>();
  const float maximum = std::isinf(d.max_value) ? std::nanf("") : static_cast<float>(d.max_value);
  return {{static_cast<float>(d.negative_slope), maximum}};
}

/// For what compares x < maximum: up to the maximum itself.
TwoFloats clipped_relu_parameters(const KernelCall& call) {
  TwoFloats parameters = relu_parameters(call);
  float& maximum = parameters.values[1];
  maximum = std::nextafter(maximum, std::numeric_limits<float>::infinity());
  return parameters;
}

TwoFloats elu_parameters(const KernelCall& call) {
  return {{1.0f, static_cast<float>(call.descriptor<ops::EluDescriptor>().alpha)}};
}
TwoFloats selu_parameters(const KernelCall&) { return {{1.0507009873554805f, 1.7580993408473766f}}; }

using ParametersOf = TwoFloats (*)(const KernelCall&);

template <LoopsOf loops_of, Loops::Unary Loops::*member, ParametersOf parameters_of = no_parameters,
          int64_t grain = kGrain>
void run_unary(const KernelCall& call) {
  const Loops::Unary loop = loops_of().*member;
  const TwoFloats parameters = parameters_of(call);
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  const bool wide = has_half(call);
  parallel_for(call.output(0).num_elements(), grain, [&](int64_t begin, int64_t end) {
    for_each_tile(wide, begin, end, [&](int64_t first, int64_t count) {
      float wide_x[kWideRun], results[kWideRun];
      float* place = y.place(first, results);
      loop(x.read(first, count, wide_x), place, count, parameters.values);
      y.write(first, count, place);
    });
  });
}

template <LoopsOf loops_of, Loops::UnaryGradient Loops::*member, ParametersOf parameters_of = no_parameters>
void run_gradient(const KernelCall& call) {
  const Loops::UnaryGradient loop = loops_of().*member;
  const TwoFloats parameters = parameters_of(call);
  const WideInput kept(call.input(0)), dy(call.input(1));
  const WideOutput dx(call.output(0));
  const bool wide = has_half(call);
  parallel_for(call.output(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    for_each_tile(wide, begin, end, [&](int64_t first, int64_t count) {
      float wide_kept[kWideRun], wide_dy[kWideRun], results[kWideRun];
      float* place = dx.place(first, results);
      loop({kept.read(first, count, wide_kept), dy.read(first, count, wide_dy), place, count},
           parameters.values);
      dx.write(first, count, place);
    });
  });
}

bool is_plain_relu(const KernelCall& call) {
  const auto& d = call.descriptor<ops::ReluDescriptor>();
  return d.negative_slope == 0 && std::isinf(d.max_value);
}

const char* unsupported_odd_relu(const KernelCall& call) {
  const auto& d = call.descriptor<ops::ReluDescriptor>();
  if (d.threshold != 0) return "the threshold is not 0";
  if (d.max_value == 0) return "the maximum is 0";
  return unsupported_other_dtypes(call);
}

template <LoopsOf loops_of>
void run_relu(const KernelCall& call) {
  is_plain_relu(call) ? run_unary<loops_of, &Loops::relu>(call)
                      : run_unary<loops_of, &Loops::bounded_relu, relu_parameters>(call);
}

template <LoopsOf loops_of>
void run_relu_gradient(const KernelCall& call) {
  is_plain_relu(call) ? run_gradient<loops_of, &Loops::relu_gradient>(call)
                      : run_gradient<loops_of, &Loops::bounded_relu_gradient, relu_parameters>(call);
}

template <LoopsOf loops_of, class From, class To>
bool try_cast(const KernelCall& call, DType from, DType to,
              void (*Loops::*member)(const From*, To*, int64_t)) {
  if (call.input(0).dtype() != from || call.output(0).dtype() != to) return false;
  const auto loop = loops_of().*member;
  const From* x = call.in<From>(0);
  To* y = call.out<To>(0);
  parallel_for(call.output(0).num_elements(), kGrain,
               [&](int64_t begin, int64_t end) { loop(x + begin, y + begin, end - begin); });
  return true;
}

const char* unsupported_rare_casts(const KernelCall& call) {
  const DType from = call.input(0).dtype(), to = call.output(0).dtype();
  if (to == DType::float32 || (is_half(from) && is_half(to))) return nullptr;
  if (from != DType::float32) return "neither side is float32";
  const bool known = to == DType::uint8 || to == DType::int32 || to == DType::float64 || is_half(to);
  return known ? nullptr : "a cast from float32 to this dtype has no loop";
}

/// Between float32 and 16-bit floats, or between these.
void run_half_cast(const KernelCall& call) {
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  parallel_for(call.output(0).num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    const bool both = x.is_widened() && y.is_narrowed();
    for_each_tile(both, begin, end, [&](int64_t first, int64_t count) {
      float wide[kWideRun];
      y.write(first, count, x.read(first, count, y.place(first, wide)));
    });
  });
}

template <LoopsOf loops_of>
void run_cast(const KernelCall& call) {
  if (has_half(call)) return run_half_cast(call);
  // A bool is a byte of 0 or 1.
  try_cast<loops_of>(call, DType::uint8, DType::float32, &Loops::uint8_to_float) ||
      try_cast<loops_of>(call, DType::bool_, DType::float32, &Loops::uint8_to_float) ||
      try_cast<loops_of>(call, DType::int32, DType::float32, &Loops::int32_to_float) ||
      try_cast<loops_of>(call, DType::int64, DType::float32, &Loops::int64_to_float) ||
      try_cast<loops_of>(call, DType::float64, DType::float32, &Loops::double_to_float) ||
      try_cast<loops_of>(call, DType::float32, DType::uint8, &Loops::float_to_uint8) ||
      try_cast<loops_of>(call, DType::float32, DType::int32, &Loops::float_to_int32) ||
      try_cast<loops_of>(call, DType::float32, DType::float64, &Loops::float_to_double);
}

/// Adds the kernels of one CPU level.
template <LoopsOf loops_of>
class Level {
 public:
  Level(KernelTable& table, std::string_view name) : table_(table), name_(name) {}

  void add_all() {
    using namespace ops;
    binary<&Loops::add>(kAdd);
    binary<&Loops::subtract>(kSubtract);
    binary<&Loops::multiply>(kMultiply);
    binary<&Loops::divide>(kDivide);
    binary<&Loops::maximum>(kMaximum);
    binary<&Loops::minimum>(kMinimum);
    binary<&Loops::squared_difference>(kSquaredDifference);
    add(kAddInPlace, run_add_in_place<loops_of>);
    add(kAffine, run_unary<loops_of, &Loops::affine, affine_parameters>);
    add(kSigmoid, run_unary<loops_of, &Loops::sigmoid, no_parameters, kSlowGrain>);
    add(kTanh, run_unary<loops_of, &Loops::tanh, no_parameters, kSlowGrain>);
    add(kSilu, run_unary<loops_of, &Loops::silu, no_parameters, kSlowGrain>);
    add(kElu, run_unary<loops_of, &Loops::elu, elu_parameters, kSlowGrain>);
    add(kEluGradient, run_gradient<loops_of, &Loops::elu_gradient, elu_parameters>);
    add(kSelu, run_unary<loops_of, &Loops::elu, selu_parameters, kSlowGrain>);
    add(kSeluGradient, run_gradient<loops_of, &Loops::selu_gradient, selu_parameters>);
    add(kGelu, run_unary<loops_of, &Loops::gelu, no_parameters, kSlowGrain>);
    add(kGeluTanh, run_unary<loops_of, &Loops::gelu_tanh, no_parameters, kSlowGrain>);
    add(kExp, run_unary<loops_of, &Loops::exp, no_parameters, kSlowGrain>);
    add(kSqrt, run_unary<loops_of, &Loops::sqrt>);
    add(kSquare, run_unary<loops_of, &Loops::square>);
    add(kRelu, run_relu<loops_of>, unsupported_odd_relu);
    add(kClippedRelu, run_unary<loops_of, &Loops::bounded_relu, relu_parameters>, unsupported_odd_relu);
    add(kClippedReluGradient, run_gradient<loops_of, &Loops::bounded_relu_gradient, clipped_relu_parameters>,
        unsupported_odd_relu);
    add(kSigmoidGradient, run_gradient<loops_of, &Loops::sigmoid_gradient>);
    add(kTanhGradient, run_gradient<loops_of, &Loops::tanh_gradient>);
    add(kSiluGradient, run_gradient<loops_of, &Loops::silu_gradient>);
    add(kGeluGradient, run_gradient<loops_of, &Loops::gelu_gradient>);
    add(kGeluTanhGradient, run_gradient<loops_of, &Loops::gelu_tanh_gradient>);
    add(kSquareGradient, run_gradient<loops_of, &Loops::square_gradient>);
    add(kReluGradient, run_relu_gradient<loops_of>, unsupported_odd_relu);
    add(kExpGradient, run_binary<loops_of, &Loops::multiply>);
    add(kCast, run_cast<loops_of>, unsupported_rare_casts);
  }

 private:
  template <Loops::BinaryLoops Loops::*member>
  void binary(const OpDef& op) {
    add(op, run_binary<loops_of, member>, unsupported_short_runs);
  }

  void add(const OpDef& op, void (*run)(const KernelCall&),
           const char* (*unsupported_reason)(const KernelCall&) = unsupported_other_dtypes) {
    table_.add(op, DeviceKind::cpu,
               {.name = name_, .unsupported_reason = unsupported_reason, .run = run, .takes_half = true});
  }

  KernelTable& table_;
  std::string_view name_;
};

}  // namespace

void register_elementwise(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) Level<elementwise_loops_avx512>(table, "avx512").add_all();
  if (cpu_level() >= CpuLevel::avx2) Level<elementwise_loops_avx2>(table, "avx2").add_all();
}

}  // namespace nyala
