// The gradient of a sum over replicas is the sum of the gradients over replicas, that of a gathering the own
// slice of that sum: replicas compute one function together, and each brings a part of its gradient. They are
// recorded by hand, since what they run is no kernel of one device but a meeting.
#include <nyala/backend/ops/base/replica_exchange.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

void infer_all_reduce(InferContext& c) { c.output(0, c.shape(0), c.dtype(0)); }

void infer_all_gather(InferContext& c) {
  const auto& d = c.descriptor<ReplicaAllGatherDescriptor>();
  c.output(0, c.shape(0).with(d.axis, d.size), c.dtype(0));
}

Tensor reduced(const Tensor& x, Collectives& replica, bool mean, const char* what) {
  const Tensor sum = replica.all_reduce_sum(x, what);
  if (!mean) return sum;
  const Tensor count = Tensor::full({}, replica.num_replicas(), x.dtype(), x.device());
  return is_floating(x.dtype()) ? divide(sum, count) : floor_divide(sum, count);
}

/// What gathers along each axis are called.
constexpr const char* kGathers[Shape::kMaxRank] = {
    "all_gather",         "all_gather(axis 1)", "all_gather(axis 2)", "all_gather(axis 3)",
    "all_gather(axis 4)", "all_gather(axis 5)", "all_gather(axis 6)", "all_gather(axis 7)"};

/// Gradients go back among the replicas of the same step only.
Collectives& still_inside(Collectives* replica, std::string_view op) {
  if (thread_context().replica != replica)
    throw StateError(std::string(op) +
                     ": its gradient is computed by all replicas together; ask for it inside the same run()");
  return *replica;
}

void all_reduce_gradient(GradContext& c) {
  const auto& d = c.descriptor<ReplicaAllReduceDescriptor>();
  c.set(0, reduced(c.grad(), still_inside(d.replica, "all_reduce"), d.mean,
                   d.mean ? "the gradient of all_reduce(MEAN)" : "the gradient of all_reduce(SUM)"));
}

void all_gather_gradient(GradContext& c) {
  const auto& d = c.descriptor<ReplicaAllGatherDescriptor>();
  const Tensor all =
      still_inside(d.replica, "all_gather").all_reduce_sum(c.grad(), "the gradient of all_gather");
  const int64_t rows = c.input(0).shape()[d.axis];
  c.set(0, slice_axis(all, d.axis, {d.first, d.first + rows, 1}));
}

void record(const OpDef& op, const Descriptor& descriptor, const Tensor& x, Tensor& result) {
  const Tensor* inputs[] = {&x};
  if (Tape* tape = recording_tape(inputs)) tape->record(op, descriptor, inputs, std::span(&result, 1));
}

void check_parts(const Tensors& parts, int axis) {
  for (const Tensor& part : parts)
    if (part.shape().with(axis, 0) != parts[0].shape().with(axis, 0))
      throw ShapeError("all_gather: expected shapes that are equal but for axis " + std::to_string(axis) +
                       ", received " + parts[0].shape().to_string() + " and " + part.shape().to_string());
}

}  // namespace

const OpDef kReplicaAllReduce = {.name = "replica_all_reduce",
                                 .infer = infer_all_reduce,
                                 .gradient = all_reduce_gradient,
                                 .reference = {}};
const OpDef kReplicaAllGather = {.name = "replica_all_gather",
                                 .infer = infer_all_gather,
                                 .gradient = all_gather_gradient,
                                 .reference = {}};

Tensor detail::replica_all_reduce(const Tensor& x, Collectives* replica, bool mean) {
  if (!replica || replica->num_replicas() == 1) return x;
  Tensor result = reduced(x.detached(), *replica, mean, mean ? "all_reduce(MEAN)" : "all_reduce(SUM)");
  record(kReplicaAllReduce, ReplicaAllReduceDescriptor{replica, mean}, x, result);
  return result;
}

Tensor detail::replica_all_gather(const Tensor& x, Collectives* replica, int axis) {
  if (x.rank() == 0)
    throw InvalidArgumentError("all_gather: a scalar has no axis to gather along; reshape it to (1,) first");
  if (axis < -x.rank() || axis >= x.rank())
    throw ShapeError("all_gather: axis " + std::to_string(axis) + " does not exist in " +
                     x.shape().to_string());
  if (axis < 0) axis += x.rank();
  if (!replica || replica->num_replicas() == 1) return x;
  const Tensors parts = replica->all_values(x.detached(), kGathers[axis]);
  check_parts(parts, axis);
  Tensor result = concatenate(parts, axis);
  ReplicaAllGatherDescriptor descriptor{replica, axis, 0, result.shape()[axis]};
  for (int id = 0; id < replica->replica_id(); ++id)
    descriptor.first += parts[static_cast<size_t>(id)].shape()[axis];
  record(kReplicaAllGather, descriptor, x, result);
  return result;
}

}  // namespace nyala::ops
