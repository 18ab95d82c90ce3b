#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nyala/backend/runtime/replica_context.h>

namespace nyala {

/// A meeting point of the replicas of one process. A replica that fails or leaves early breaks it: everybody
/// who waits or comes later gets an error instead of waiting for ever.
class ReplicaGroup {
 public:
  explicit ReplicaGroup(std::vector<Device> devices);
  ~ReplicaGroup();

  int size() const { return static_cast<int>(devices_.size()); }
  ReplicaContext& context(int replica) const { return *contexts_[static_cast<size_t>(replica)]; }

  /// Makes the group whole for the next step.
  void reset();
  /// Replica `id` will come to no more meetings of this step.
  void leave(int id);
  /// Breaks every meeting of this step.
  void cancel(const std::string& reason);

  /// Waits for all replicas. Throws CommunicationError when the group is broken.
  void meet(int id);

  /// Places where replicas show each other tensors between two meetings. They hold the tensors: a replica
  /// that fails may unwind while others still look.
  Tensors shown;

 private:
  class Context;
  void check_whole() const;

  std::vector<Device> devices_;
  std::vector<std::unique_ptr<ReplicaContext>> contexts_;
  int spins_;
  std::atomic<int> arrived_{0};
  std::atomic<int> left_{0};
  std::atomic<uint32_t> generation_{0};
  std::atomic<bool> broken_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace nyala
