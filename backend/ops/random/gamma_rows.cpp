#include <nyala/backend/ops/random/gamma_rows.h>

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

void infer_log_gamma_rows(InferContext& c) {
  const auto& d = c.descriptor<GammaRowsDescriptor>();
  if (c.shape(0).num_elements() != 1)
    c.fail("expected a step of one element, received " + c.shape(0).to_string());
  if (c.shape(1).num_elements() != 1 || c.dtype(1) != DType::float32)
    c.fail("expected an alpha of one float32, received " + c.shape(1).to_string());
  c.output(0, {d.rows, d.columns}, DType::float32);
}

/// Marsaglia and Tsang 2000, "A simple method for generating gamma variables", for alpha of 1 and more; below
/// that one for alpha + 1, times u^(1 / alpha).
double log_gamma_number(DrawStream& stream, double alpha) {
  const bool small = alpha < 1.0;
  const double d = (small ? alpha + 1.0 : alpha) - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  const double shift = small ? std::log(1.0 - stream.uniform()) / alpha : 0.0;
  while (true) {
    const double x = stream.normal(), root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double log_v = 3.0 * std::log(root), v = root * root * root;
    if (std::log(1.0 - stream.uniform()) < 0.5 * x * x + d - d * v + d * log_v)
      return std::log(d) + log_v + shift;
  }
}

// Each row has a stream of its own.
void log_gamma_rows_reference(const KernelCall& call) {
  const auto& d = call.descriptor<GammaRowsDescriptor>();
  const uint64_t key = mix_key(d.key, step_value(call.input(0)));
  const double alpha = static_cast<double>(*call.in<float>(1));
  float* out = call.out<float>(0);
  for (int64_t row = 0; row < d.rows; ++row) {
    DrawStream stream(mix_key(key, static_cast<uint64_t>(d.first_row + row)));
    for (int64_t column = 0; column < d.columns; ++column)
      *out++ = static_cast<float>(log_gamma_number(stream, alpha));
  }
}

}  // namespace

const OpDef kLogGammaRows = {
    .name = "log_gamma_rows", .infer = infer_log_gamma_rows, .reference = log_gamma_rows_reference};

Tensor log_gamma_rows(const Tensor& step, const Tensor& alpha, const GammaRowsDescriptor& descriptor) {
  if (descriptor.rows < 0 || descriptor.columns < 1)
    throw InvalidArgumentError("log_gamma_rows: expected at least 0 rows and 1 column, received " +
                               std::to_string(descriptor.rows) + " and " +
                               std::to_string(descriptor.columns));
  return dispatch(kLogGammaRows, descriptor, {&step, &alpha});
}

}  // namespace nyala::ops
