#include <nyala/backend/ops/categories/lookup.h>

#include <algorithm>
#include <string>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

void infer_lookup(InferContext& c) {
  for (size_t i = 0; i < 3; ++i)
    if (c.dtype(i) != DType::int64)
      c.fail("expected whole numbers, and keys and values of int64, received " +
             std::string(name_of(c.dtype(i))));
  if (c.shape(1).rank() != 1 || c.shape(1) != c.shape(2))
    c.fail("expected keys and values along one axis, received " + c.shape(1).to_string() + " and " +
           c.shape(2).to_string());
  c.output(0, c.shape(0), DType::int64);
}

void lookup_reference(const KernelCall& call) {
  const auto& d = call.descriptor<LookupDescriptor>();
  const int64_t size = call.input(1).num_elements(), count = call.output(0).num_elements();
  const int64_t* const x = call.in<int64_t>(0);
  const int64_t* const keys = call.in<int64_t>(1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t* const found = std::lower_bound(keys, keys + size, x[i]);
    const bool is_key = found != keys + size && *found == x[i];
    if (!is_key && d.is_required)
      report_status(*call.inputs.back(),
                    {StatusCode::not_in_vocabulary, i, x[i], size, call.input(0).shape()});
    call.out<int64_t>(0)[i] = is_key ? call.in<int64_t>(2)[found - keys] : d.missing;
  }
}

}  // namespace

const OpDef kLookup = {
    .name = "lookup", .infer = infer_lookup, .reference = lookup_reference, .reports_status = true};

Tensor lookup(const Tensor& x, const Tensor& keys, const Tensor& values, const LookupDescriptor& descriptor) {
  const Tensor numbers = is_floating(x.dtype()) ? x : cast(x, DType::int64);
  return dispatch(kLookup, descriptor, {&numbers, &keys, &values});
}

}  // namespace nyala::ops
