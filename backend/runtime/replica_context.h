#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What one replica of a step may ask of the others. The collectives are called by every replica in the same
/// order, also by one that holds no rows; each returns on every replica the same bits. Used from the
/// replica's own thread.
class ReplicaContext {
 public:
  virtual ~ReplicaContext() = default;
  virtual int replica_id() const = 0;
  virtual int num_replicas() const = 0;
  /// The sum over all replicas, added in replica order, on this replica's device.
  virtual Tensor all_reduce_sum(const Tensor& value) = 0;
  /// The values of all replicas stacked along a new axis 0 in replica order, on this replica's device.
  virtual Tensor all_gather(const Tensor& value) = 0;
};

}  // namespace nyala
