#include <nyala/backend/ops/shape/digitize.h>

#include <algorithm>
#include <string>

#include <nyala/backend/ops/base/dispatch.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

void infer_digitize(InferContext& c) {
  if (c.shape(1).rank() != 1 || c.dtype(0) != c.dtype(1))
    c.fail("expected boundaries along one axis in the dtype of x, " + std::string(name_of(c.dtype(0))) +
           ", received " + c.shape(1).to_string() + " " + std::string(name_of(c.dtype(1))));
  c.output(0, c.shape(0), DType::int32);
}

void digitize_reference(const KernelCall& call) {
  dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* first = call.in<T>(1);
    const T* last = first + call.input(1).num_elements();
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i)
      call.out<int32_t>(0)[i] = static_cast<int32_t>(std::upper_bound(first, last, call.in<T>(0)[i]) - first);
  });
}

}  // namespace

const OpDef kDigitize = {.name = "digitize", .infer = infer_digitize, .reference = digitize_reference};

Tensor digitize(const Tensor& x, const Tensor& boundaries) {
  return dispatch(kDigitize, NoDescriptor{}, {&x, &boundaries});
}

}  // namespace nyala::ops
