#pragma once

#include <functional>
#include <span>
#include <string_view>

#include <nyala/backend/core/tensor.h>

namespace nyala {

class ProcessExchange;

/// What one replica of a step may ask of the others. Everything here is called by every replica in the same
/// order, also by one that holds no rows; a replica that does something else meanwhile, or ends its step,
/// breaks the meeting: all get CommunicationError. Used from the replica's own thread.
class Collectives {
 public:
  /// What every replica of this process handed in, in replica order.
  using Contributions = std::span<const void* const>;

  virtual ~Collectives() = default;
  /// The replica's place among all of the step, in whatever process they are: decides which rows it has, what
  /// it draws and the order of sums.
  virtual int replica_id() const = 0;
  virtual int num_replicas() const = 0;
  /// Its place among those of this process: decides its thread, its device and its copies of variables.
  virtual int local_index() const { return replica_id(); }
  virtual int num_local_replicas() const { return num_replicas(); }
  /// What asks the other processes, inside the function of a barrier(). Null: there are none.
  virtual ProcessExchange* processes() const { return nullptr; }
  /// The sum over all replicas, added in replica order, on this replica's device: the same bits everywhere.
  /// `what`, here and below, is a literal that names the meeting in errors, and what the sum is for: replicas
  /// that come with different ones break it.
  virtual Tensor all_reduce_sum(const Tensor& value, const char* what = "all_reduce") = 0;
  /// The values of all replicas stacked along a new axis 0 in replica order, on this replica's device.
  virtual Tensor all_gather(const Tensor& value) = 0;
  /// The values of all replicas in replica order, copied to this replica's device. Ranks and dtypes are
  /// equal, sizes need not be.
  virtual Tensors all_values(const Tensor& value, const char* what = "all_gather") = 0;
  /// The replicas of this process meet; the first one's thread calls once(contributions) outside of every
  /// replica, and all go on when it has returned. `what` names the meeting in errors. What `once` throws,
  /// that replica throws. Contributions cannot leave the process: what concerns all processes, `once` asks of
  /// processes().
  virtual void barrier(std::string_view what, const void* contribution,
                       const std::function<void(Contributions)>& once) = 0;
};

}  // namespace nyala
