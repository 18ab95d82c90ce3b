#include <nyala/backend/ops/base/uniform_rows.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/dropout.h>
#include <nyala/backend/runtime/random.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

void infer_uniform_rows(InferContext& c) {
  const auto& d = c.descriptor<UniformRowsDescriptor>();
  if (c.shape(0).num_elements() != 1)
    c.fail("expected a step of one element, received " + c.shape(0).to_string());
  c.output(0, {d.rows, d.columns}, DType::float32);
}

/// Rounding to float32 must not reach the upper limit.
float between(const UniformRange& range, double fraction) {
  const auto low = static_cast<float>(range.low), high = static_cast<float>(range.high);
  const auto number = static_cast<float>(range.low + (range.high - range.low) * fraction);
  return number < high || low >= high ? std::max(number, low) : std::nextafter(high, low);
}

// Each row has a Philox block of its own: one number takes two of its four words.
void uniform_rows_reference(const KernelCall& call) {
  const auto& d = call.descriptor<UniformRowsDescriptor>();
  const uint64_t step = step_value(call.input(0));
  float* out = call.out<float>(0);
  for (int64_t row = 0; row < d.rows; ++row) {
    const uint64_t block = static_cast<uint64_t>(d.first_row + row);
    const auto words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                               static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                              d.key);
    for (int64_t column = 0; column < d.columns; ++column) {
      const size_t first = static_cast<size_t>(2 * column);
      *out++ = between(d.ranges[static_cast<size_t>(column)], uniform_double(words[first], words[first + 1]));
    }
  }
}

}  // namespace

const OpDef kUniformRows = {
    .name = "uniform_rows", .infer = infer_uniform_rows, .reference = uniform_rows_reference};

Tensor uniform_rows(const Tensor& step, const UniformRowsDescriptor& descriptor) {
  if (descriptor.rows < 0 || descriptor.columns < 1 ||
      descriptor.columns > UniformRowsDescriptor::kMaxColumns)
    throw InvalidArgumentError("uniform_rows: expected at least 0 rows and 1 to " +
                               std::to_string(UniformRowsDescriptor::kMaxColumns) + " columns, received " +
                               std::to_string(descriptor.rows) + " and " +
                               std::to_string(descriptor.columns));
  return dispatch(kUniformRows, descriptor, {&step});
}

}  // namespace nyala::ops
