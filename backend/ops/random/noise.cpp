#include <nyala/backend/ops/random/noise.h>

#include <cmath>
#include <numbers>
#include <string>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/dropout.h>
#include <nyala/backend/runtime/random.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_noise(InferContext& c) {
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
  if (c.shape(1).num_elements() != 1)
    c.fail("expected a step of one element, received " + c.shape(1).to_string());
  c.output(0, c.shape(0), c.dtype(0));
}

void noise_reference(const KernelCall& call) {
  const NoisePlan plan(call);
  dispatch_real(call.output(0).dtype(), call.op->name,
                [&]<class T>(T) { plan.fill(call.out<T>(0), 0, call.output(0).num_elements()); });
}

}  // namespace

NoisePlan::NoisePlan(const KernelCall& call)
    : key(call.descriptor<NoiseDescriptor>().key),
      step(step_value(call.input(1))),
      mean(call.descriptor<NoiseDescriptor>().mean),
      stddev(call.descriptor<NoiseDescriptor>().stddev) {
  const Shape& shape = call.output(0).shape();
  if (shape.rank() > 0)
    first = call.descriptor<NoiseDescriptor>().first_row * shape.slice(1, shape.rank()).num_elements();
}

std::array<double, 2> NoisePlan::pair(int64_t i) const {
  const uint64_t block = static_cast<uint64_t>(i);
  const auto words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                             static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                            key);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform_double(words[0], words[1])));
  const double angle = 2.0 * std::numbers::pi * uniform_double(words[2], words[3]);
  return {mean + stddev * radius * std::cos(angle), mean + stddev * radius * std::sin(angle)};
}

const OpDef kNoise = {.name = "noise", .infer = infer_noise, .reference = noise_reference};

Tensor noise_like(const Tensor& like, const Tensor& step, const NoiseDescriptor& descriptor) {
  return dispatch(kNoise, descriptor, {&like, &step});
}

}  // namespace nyala::ops
