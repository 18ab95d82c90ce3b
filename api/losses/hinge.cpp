#include <nyala/api/losses/configured_loss.h>
#include <nyala/api/losses/hinge.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/replica_exchange.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/logical.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

void HingeConfig::fields(FieldVisitor& v) { v.field("reduction", reduction); }

Tensor detail::hinge_labels(const Tensor& y_true) {
  const auto is = [&y_true](double label) {
    return ops::equal(y_true, Tensor::full({}, label, y_true.dtype(), y_true.device()));
  };
  const Tensor others = ops::logical_not(ops::logical_or(is(0.0), is(1.0)));
  Tensor count = ops::sum(ops::cast(others, DType::float32));
  Collectives* const replica = thread_context().replica;  // the batch is that of all replicas
  if (replica && !count.is_abstract()) count = ops::detail::replica_all_reduce(count, replica);
  const Tensor none = ops::equal(count, Tensor::full({}, 0.0, DType::float32, count.device()));
  return ops::where(none, y_true * 2.0 - 1.0, y_true);
}

namespace {

Tensor hinge_of(const Tensor& y_true, const Tensor& y_pred) {
  const auto [target, prediction] = comparable(y_true, y_pred);
  return ops::mean(at_least(1.0 - hinge_labels(target) * prediction, 0.0), {-1});
}

}  // namespace

Hinge::Hinge(const Config& config) : Loss(make_loss("Hinge", config, hinge_of)) {}

}  // namespace nyala
