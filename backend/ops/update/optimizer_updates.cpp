#include <algorithm>
#include <cmath>

#include <nyala/backend/ops/update/optimizer_updates.h>
#include <nyala/backend/ops/update/update_formulas.h>

namespace nyala::ops {

using namespace nyala::detail;

void detail::infer_update(InferContext& c, size_t outputs) {
  if (c.num_inputs() != 3 || c.shape(0).rank() != 1 || !is_floating(c.dtype(0)))
    c.fail("expected a flat floating gradient, factor and scalars, received " + c.shape(0).to_string());
  if (c.dtype(1) != DType::float64 || c.dtype(2) != DType::float64 || c.shape(1) != Shape{1} ||
      c.shape(2).back() < kFirstFormulaScalar)
    c.fail("expected a float64 factor (1) and float64 scalars, received " + c.shape(1).to_string() + " and " +
           c.shape(2).to_string());
  for (size_t i = 0; i < outputs; ++i) c.output(i, c.shape(0), c.dtype(0));
}

namespace {

template <size_t outputs>
void infer_update_of(InferContext& c) {
  detail::infer_update(c, outputs);
}

template <template <class> class Formula>
void reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    formulas::update_elements<T, Formula<T>>(call, 0, call.output(0).num_elements());
  });
}

template <template <class> class Formula>
constexpr OpDef formula_op() {
  constexpr size_t kOutputs = 1 + Formula<float>::kSlots;
  return {.name = Formula<float>::kName,
          .num_outputs = kOutputs,
          .infer = infer_update_of<kOutputs>,
          .reference = reference<Formula>};
}

template <template <class> class... Formula>
constexpr std::array<OpDef, sizeof...(Formula)> formula_ops(formulas::FormulaList<Formula...>) {
  return {formula_op<Formula>()...};
}

void prepare_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const formulas::Preparation<T> prepare(call);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i) {
      call.out<T>(0)[i] = prepare.gradient(call.in<T>(0)[i]);
      call.out<T>(1)[i] = prepare.weight(call.out<T>(1)[i]);
    }
  });
}

void infer_average(InferContext& c) {
  if (c.dtype(1) != DType::float64) c.fail("expected float64 scalars");
  c.output(0, c.shape(0), c.dtype(0));
}

void average_reference(const KernelCall& call) {
  dispatch_real(call.output(0).dtype(), call.op->name,
                [&]<class T>(T) { formulas::average_elements<T>(call, 0, call.output(0).num_elements()); });
}

void infer_squared_sums(InferContext& c) {
  if (c.shape(0).rank() != 1) c.fail("expected a flat tensor, received " + c.shape(0).to_string());
  const int64_t count = c.shape(0).back();
  c.output(0, {count == None ? None : (count + kNormChunk - 1) / kNormChunk}, DType::float64);
}

void squared_sums_reference(const KernelCall& call) {
  dispatch_real(call.input(0).dtype(), call.op->name,
                [&]<class T>(T) { formulas::squared_sum_chunks<T>(call, 0, call.output(0).num_elements()); });
}

void infer_clip_factors(InferContext& c) {
  if (c.dtype(0) != DType::float64 || c.dtype(1) != DType::int64 || c.dtype(2) != DType::float64)
    c.fail("expected float64 sums, int64 offsets and float64 scalars");
  c.output(0, {c.shape(1).back() == None ? None : c.shape(1).back() - 1}, DType::float64);
}

double clip_factor(double norm, const ClipFactorsDescriptor& d) {
  if (d.global) return d.limit * std::min(1.0 / norm, 1.0 / d.limit) + (norm - norm);
  return std::isnan(norm) ? norm : d.limit / std::max(norm, d.limit);
}

void clip_factors_reference(const KernelCall& call) {
  const auto& d = call.descriptor<ClipFactorsDescriptor>();
  const double scale = call.in<double>(2)[kGradientScaleScalar];
  const int64_t* offsets = call.in<int64_t>(1);
  const int64_t factors = call.output(0).num_elements();
  for (int64_t i = 0; i < factors; ++i) {
    double sum = 0.0;
    for (int64_t part = offsets[i]; part < offsets[i + 1]; ++part) sum += call.in<double>(0)[part];
    call.out<double>(0)[i] = scale * clip_factor(std::sqrt(sum) * std::abs(scale), d);
  }
}

}  // namespace

constinit const std::array<OpDef, formulas::Formulas::kSize> detail::kFormulaUpdates =
    formula_ops(formulas::Formulas());

const OpDef kPrepareUpdate = {
    .name = "prepare_update", .num_outputs = 2, .infer = infer_update_of<2>, .reference = prepare_reference};
const OpDef kMovingAverage = {
    .name = "moving_average", .infer = infer_average, .reference = average_reference};
const OpDef kSquaredSums = {
    .name = "squared_sums", .infer = infer_squared_sums, .reference = squared_sums_reference};
const OpDef kClipFactors = {
    .name = "clip_factors", .infer = infer_clip_factors, .reference = clip_factors_reference};

}  // namespace nyala::ops
