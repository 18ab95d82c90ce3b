#include <nyala/strategies/replica_group.h>

#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/runtime/cpu_hints.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

namespace {

/// Spinning pays only while every replica has a core of its own.
int spins_for(size_t replicas) { return static_cast<int>(replicas) <= available_cores() ? 4000 : 0; }

}  // namespace

class ReplicaGroup::Context final : public ReplicaContext {
 public:
  Context(ReplicaGroup& group, int id) : group_(group), id_(id) {}
  int replica_id() const override { return id_; }
  int num_replicas() const override { return group_.size(); }

  Tensor all_reduce_sum(const Tensor& value) override {
    const Device device = value.device();
    Tensor sum;
    exchange(value, [&] {
      sum = group_.shown[0].to(device).clone();
      for (size_t i = 1; i < group_.shown.size(); ++i) sum = ops::add(sum, on(group_.shown[i], device));
    });
    return sum;
  }

  Tensor all_gather(const Tensor& value) override {
    Shape stacked{num_replicas()};
    for (int64_t size : value.shape()) stacked.append(size);
    const Tensor all = Tensor::empty(stacked, value.dtype(), value.device());
    exchange(value, [&] {
      for (int i = 0; i < num_replicas(); ++i)
        all.rows(i, 1).with_shape(value.shape()).copy_from(group_.shown[static_cast<size_t>(i)]);
    });
    return all;
  }

 private:
  static Tensor on(const Tensor& value, Device device) {
    const bool both_cpu = device.kind == DeviceKind::cpu && value.device().kind == DeviceKind::cpu;
    return both_cpu ? value.alias_on(device) : value.to(device);
  }

  /// Shows `value`, lets `read` look at everybody's, and returns when all have looked.
  template <class Read>
  void exchange(const Tensor& value, Read&& read) {
    group_.check_whole();
    if (value.device().kind != DeviceKind::cpu) synchronize(value.device());
    group_.shown[static_cast<size_t>(id_)] = value.detached();
    group_.meet(id_);
    for (const Tensor& other : group_.shown)
      if (other.shape() != value.shape() || other.dtype() != value.dtype()) {
        group_.cancel("replicas came to one collective with " + kind_of(value) + " and " + kind_of(other));
        break;
      }
    group_.check_whole();
    read();
    group_.meet(id_);
    group_.shown[static_cast<size_t>(id_)] = Tensor();
  }

  static std::string kind_of(const Tensor& value) {
    return std::string(name_of(value.dtype())) + " " + value.shape().to_string();
  }

  ReplicaGroup& group_;
  int id_;
};

ReplicaGroup::ReplicaGroup(std::vector<Device> devices)
    : shown(devices.size()), devices_(std::move(devices)), spins_(spins_for(devices_.size())) {
  for (int id = 0; id < size(); ++id) contexts_.push_back(std::make_unique<Context>(*this, id));
}

ReplicaGroup::~ReplicaGroup() = default;

void ReplicaGroup::reset() {
  arrived_ = 0;
  left_ = 0;
  broken_ = false;
  std::fill(shown.begin(), shown.end(), Tensor());
}

void ReplicaGroup::leave(int id) {
  left_.fetch_add(1);
  if (arrived_.load() > 0)
    cancel("replica " + std::to_string(id) + " ended its step while others wait for it in a collective");
}

void ReplicaGroup::cancel(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (broken_.load()) return;
    reason_ = reason;
    broken_ = true;
  }
  generation_.fetch_add(1);
  generation_.notify_all();
}

void ReplicaGroup::check_whole() const {
  if (!broken_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  throw CommunicationError("a collective among replicas was cancelled: " + reason_);
}

void ReplicaGroup::meet(int id) {
  check_whole();
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1) + 1 == size()) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  // Looked at in this order: whoever left before the meeting was complete will not come.
  if (left_.load() > 0 && generation_.load() == generation)
    cancel("replica " + std::to_string(id) + " waits in a collective, but another one has ended its step");
  for (int spin = 0; spin < spins_ && generation_.load(std::memory_order_acquire) == generation; ++spin)
    spin_pause();
  generation_.wait(generation, std::memory_order_acquire);
  check_whole();
}

}  // namespace nyala
