#include <nyala/backend/ops/elementwise/finite_check.h>

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include <nyala/backend/ops/base/dispatch.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

void infer_count(InferContext& c) {
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
  c.output(0, {1}, DType::float64);
}

// An exponent of ones alone; the loop over whole numbers is one that compilers turn into vectors.
void count_reference(const KernelCall& call) {
  dispatch_real(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kExponent = sizeof(T) == 4 ? Bits(0x7f800000u) : Bits(0x7ff0000000000000ull);
    const T* x = call.in<T>(0);
    const int64_t elements = call.input(0).num_elements();
    int64_t count = 0;
    for (int64_t i = 0; i < elements; ++i) count += (std::bit_cast<Bits>(x[i]) & kExponent) == kExponent;
    call.out<double>(0)[0] = static_cast<double>(count);
  });
}

}  // namespace

const OpDef kCountNotFinite = {
    .name = "count_not_finite", .infer = infer_count, .reference = count_reference};

Tensor count_not_finite(const Tensor& x) { return dispatch(kCountNotFinite, NoDescriptor{}, {&x}); }

}  // namespace nyala::ops
