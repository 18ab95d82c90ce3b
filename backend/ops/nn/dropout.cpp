#include <cmath>
#include <string>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/broadcasting.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/nn/dropout.h>
#include <nyala/backend/runtime/random.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_dropout(InferContext& c) {
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
  const DType step = c.dtype(1);
  if (c.shape(1).num_elements() != 1 ||
      (step != DType::int32 && step != DType::int64 && step != DType::float64))
    c.fail("expected a step of one int32, int64 or float64 element, received " + std::string(name_of(step)) +
           " " + c.shape(1).to_string());
  c.output(0, c.shape(0), c.dtype(0));
}

void dropout_reference(const KernelCall& call) {
  const DropoutPlan plan = dropout_plan(call);
  const Shape& shape = call.output(0).shape();
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T scale = static_cast<T>(plan.scale);
    for_each_broadcast(shape, plan.noise, shape, [&](int64_t i, int64_t, int64_t draw) {
      const bool kept = plan.word(plan.first_draw + draw) >= plan.threshold;
      call.out<T>(0)[i] = kept ? call.in<T>(0)[i] * scale : T(0);
    });
  });
}

void dropout_gradient(GradContext& c) {
  c.emit(0, kDropout, c.descriptor<DropoutDescriptor>(), {&c.grad(), &c.input(1)});
}

}  // namespace

uint64_t detail::step_value(const Tensor& step) {
  switch (step.dtype()) {
    case DType::int32:
      return static_cast<uint64_t>(*step.raw_as<int32_t>());
    case DType::int64:
      return static_cast<uint64_t>(*step.raw_as<int64_t>());
    default:
      return static_cast<uint64_t>(static_cast<int64_t>(*step.raw_as<double>()));
  }
}

uint32_t DropoutPlan::word(int64_t draw) const {
  const uint64_t block = static_cast<uint64_t>(draw / kGroup * kLanes + draw % kLanes);
  const auto words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                             static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                            key);
  return words[static_cast<size_t>(draw % kGroup / kLanes)];
}

DropoutPlan detail::dropout_plan(const KernelCall& call) {
  const auto& d = call.descriptor<DropoutDescriptor>();
  DropoutPlan plan;
  plan.key = mix_key(d.key, uint64_t{d.call});
  plan.step = step_value(call.input(1));
  plan.threshold = static_cast<uint64_t>(std::llround(d.rate * 0x1p32));
  plan.scale = d.rate < 1.0 ? 1.0 / (1.0 - d.rate) : 0.0;
  plan.noise = call.input(0).shape();
  for (int axis = 0; axis < plan.noise.rank(); ++axis)
    if (d.noise_axes >> axis & 1u) plan.noise.set(axis, 1);
  const bool by_row = plan.noise.rank() > 0 && !(d.noise_axes & 1u);
  if (by_row) plan.first_draw = d.first_row * plan.noise.slice(1, plan.noise.rank()).num_elements();
  return plan;
}

const OpDef kDropout = {.name = "dropout",
                        .infer = infer_dropout,
                        .gradient = dropout_gradient,
                        .keep_inputs = keep(1),
                        .reference = dropout_reference,
                        .twice_differentiable = true};

Tensor dropout(const Tensor& x, const Tensor& step, const DropoutDescriptor& descriptor) {
  if (!(descriptor.rate >= 0.0 && descriptor.rate <= 1.0))
    throw InvalidArgumentError("dropout: expected a rate in [0, 1], received " +
                               number_text(descriptor.rate));
  if (descriptor.first_row < 0)
    throw InvalidArgumentError("dropout: expected a first row of at least 0, received " +
                               std::to_string(descriptor.first_row));
  return dispatch(kDropout, descriptor, {&x, &step});
}

uint32_t detail::dropout_noise_axes(const Shape& x, const Shape& noise_shape) {
  bool fits = noise_shape.rank() == x.rank();
  uint32_t axes = 0;
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    if (noise_shape[axis] == 1)
      axes |= 1u << axis;
    else
      fits = noise_shape[axis] == None || x[axis] == None || noise_shape[axis] == x[axis];
  }
  if (!fits)
    throw ShapeError("dropout: expected a noise_shape of sizes 1, None or those of " + x.to_string() +
                     ", received " + noise_shape.to_string());
  return axes;
}

}  // namespace nyala::ops
