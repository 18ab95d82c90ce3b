#include <nyala/strategies/in_process.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

namespace {

InProcessOptions checked(InProcessOptions options) {
  for (Device device : options.devices) check_device_exists(device);
  return options;
}

bool can_share(const std::vector<Device>& devices) {
  if (devices.size() == 1) return true;
  for (Device device : devices)
    if (device.kind != DeviceKind::cpu) return false;
  return true;
}

}  // namespace

InProcessStrategy::InProcessStrategy(InProcessOptions options)
    : options_(checked(std::move(options))),
      store_(ParameterStore::make(options_.devices, options_.share_weights && can_share(options_.devices))),
      group_(options_.devices),
      buckets_(*store_, options_.bucket_elements),
      threads_(options_.devices) {
  for (size_t i = 0; i < options_.devices.size(); ++i) tapes_.push_back(std::make_unique<Tape>());
}

std::string InProcessStrategy::describe() const {
  std::string devices;
  for (Device device : options_.devices) devices += (devices.empty() ? "" : ", ") + device.to_string();
  const bool several = num_replicas_in_sync() > 1;
  return options_.name + ": " + std::to_string(num_replicas_in_sync()) +
         (several ? " replicas" : " replica") + " on " + devices + "; weights " +
         (store_->shares_weights() ? "shared" : "mirrored") +
         (several ? "; gradients summed in buckets of at least " + std::to_string(options_.bucket_elements) +
                        " elements while backward runs"
                  : "");
}

/// The right to use the replicas' threads, tapes and gradients.
class InProcessStrategy::Turn {
 public:
  explicit Turn(InProcessStrategy& strategy) : strategy_(strategy) {
    if (strategy.runs_on_this_thread())
      throw StateError(strategy.name() +
                       ": a step was begun inside a step of the same strategy; end that one first");
    lock_ = std::unique_lock(strategy.turn_);
    strategy.runner_ = std::this_thread::get_id();
  }
  ~Turn() { strategy_.runner_ = std::thread::id(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  InProcessStrategy& strategy_;
  std::unique_lock<std::mutex> lock_;
};

bool InProcessStrategy::runs_on_this_thread() const {
  if (runner_.load() == std::this_thread::get_id()) return true;
  for (int id = 0; id < group_.size(); ++id)
    if (thread_context().replica == &group_.context(id)) return true;
  return false;
}

void InProcessStrategy::run(const std::function<void(Replica&)>& fn, UpdateRule* rule) {
  if (!rule && num_replicas_in_sync() == 1) return run_alone(fn);
  const Turn turn(*this);
  group_.reset();
  bool apply = false;
  if (rule) {
    const bool accumulate = rule->accumulates_into_existing();
    apply = rule->begin_step();
    buckets_.begin(*rule, apply, accumulate);
  }
  first_error_ = nullptr;
  threads_.run([&](int id) {
    try {
      run_replica(id, fn, rule != nullptr);
    } catch (...) {
      fail(id);
    }
  });
  if (first_error_) std::rethrow_exception(std::exchange(first_error_, nullptr));
  if (!rule) return;
  std::erase_if(pending_, [rule](const Pending& pending) { return pending.rule == rule; });
  pending_.push_back({rule, apply});
}

// Touches nothing that others use: several threads may predict at once.
void InProcessStrategy::run_alone(const std::function<void(Replica&)>& fn) {
  Tape tape;
  threads_.run([&](int) {
    Replica replica{0, 1, options_.devices[0], nullptr, nullptr, &tape};
    const ScopedValue<ReplicaContext*> inside(thread_context().replica, nullptr);
    fn(replica);
  });
}

void InProcessStrategy::run_replica(int id, const std::function<void(Replica&)>& fn, bool has_rule) {
  const bool several = num_replicas_in_sync() > 1;
  Replica replica{id,
                  num_replicas_in_sync(),
                  options_.devices[static_cast<size_t>(id)],
                  several ? &group_.context(id) : nullptr,
                  has_rule ? &buckets_.sink(id) : nullptr,
                  tapes_[static_cast<size_t>(id)].get()};
  const ScopedValue<ReplicaContext*> inside(thread_context().replica, replica.context);
  fn(replica);
  if (has_rule) buckets_.finish(id);
  group_.leave(id);
}

// Called in a catch block. The first error is the cause; the others only follow from the cancelled
// collectives.
void InProcessStrategy::fail(int id) {
  tapes_[static_cast<size_t>(id)]->clear();
  const std::string who =
      "replica " + std::to_string(id) + " on " + options_.devices[static_cast<size_t>(id)].to_string();
  std::exception_ptr error = std::current_exception();
  std::string reason = who + " failed";
  if (num_replicas_in_sync() > 1) {
    try {
      rethrow_with_prefix(who + ": ");
    } catch (const std::exception& named) {
      error = std::current_exception();
      reason = named.what();
    }
  }
  {
    std::lock_guard lock(error_mutex_);
    if (!first_error_) first_error_ = error;
  }
  group_.cancel(reason);
}

bool InProcessStrategy::take_pending(const UpdateRule& rule) {
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    if (pending->rule != &rule) continue;
    const bool apply = pending->apply;
    pending_.erase(pending);
    return apply;
  }
  throw StateError(name() + ": update() needs a run() with the same rule before it");
}

void InProcessStrategy::update(UpdateRule& rule) {
  const Turn turn(*this);
  if (take_pending(rule))
    apply(rule);
  else
    rule.end_gathering();
}

void InProcessStrategy::apply(UpdateRule& rule) {
  UpdatePlace place{store_.get(), 0, 0, {}, 1};
  if (store_->num_weight_copies() == 1) {
    place.num_slices = num_replicas_in_sync();
    place.parallel = [this](int, const std::function<void(int)>& body) { in_slices(body); };
    rule.apply(place);
  } else {
    place.parallel = [](int slices, const std::function<void(int)>& body) {
      for (int slice = 0; slice < slices; ++slice) body(slice);
    };
    for (int copy = 0; copy < store_->num_weight_copies(); ++copy) {
      place.copy = place.gradient_replica = copy;
      rule.apply(place);
    }
  }
  rule.end_step();
}

void InProcessStrategy::in_slices(const std::function<void(int)>& body) {
  std::exception_ptr error;
  threads_.run([&](int slice) {
    try {
      body(slice);
    } catch (...) {
      std::lock_guard lock(error_mutex_);
      if (!error) error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace nyala
