#pragma once

#include <nyala/backend/core/op.h>

namespace nyala {

class Collectives;

}  // namespace nyala

namespace nyala::ops {

namespace detail {

/// The sum or mean of `x` over all replicas, the same bits on each. Every replica calls it with a tensor of
/// one shape and dtype; `replica` null stands for a replica that is alone. Means keep the dtype: those of
/// integers are rounded towards negative infinity. The gradient is the same reduction of the gradients, so
/// every replica has to walk back through it. Throws CommunicationError where the replicas do not come
/// together.
Tensor replica_all_reduce(const Tensor& x, Collectives* replica, bool mean = false);

/// The tensors of all replicas behind each other along `axis`, in replica order. Other sizes and the dtypes
/// are equal. The gradient is the sum over the replicas, of which each takes its part. Throws
/// InvalidArgumentError for scalars, ShapeError for tensors that do not fit.
Tensor replica_all_gather(const Tensor& x, Collectives* replica, int axis = 0);

}  // namespace detail

struct ReplicaAllReduceDescriptor {
  Collectives* replica = nullptr;
  bool mean = false;
};
struct ReplicaAllGatherDescriptor {
  Collectives* replica = nullptr;
  int32_t axis = 0;   // not negative
  int64_t first = 0;  // where this replica's part begins
  int64_t size = 0;   // of the whole axis
};
/// Only recorded: replicas compute them together, outside of the kernels.
extern const OpDef kReplicaAllReduce, kReplicaAllGather;

}  // namespace nyala::ops
