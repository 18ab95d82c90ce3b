#include <nyala/backend/kernels/cpu/elementwise/noise.h>

#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/random/noise.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

constexpr int64_t kGrain = 2048;  // a number costs as much as dozens of sums

const char* unsupported_reason(const KernelCall& call) {
  return call.output(0).dtype() == DType::float32 ? nullptr : "float32 only";
}

void noise(const KernelCall& call) {
  const ops::NoisePlan plan(call);
  parallel_for(call.output(0).num_elements(), kGrain,
               [&](int64_t begin, int64_t end) { plan.fill(call.out<float>(0), begin, end); });
}

}  // namespace

void register_noise(KernelTable& table) {
  table.add(ops::kNoise, DeviceKind::cpu, {"threads", unsupported_reason, nullptr, noise});
}

}  // namespace nyala
