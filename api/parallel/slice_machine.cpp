// Kept threads with a meeting point (ReplicaGroup), for one call at a time. A slice that throws cancels the
// meeting, so that the others do not wait for it, and the first error is thrown when all have ended. A single
// slice takes no turn.
#include <nyala/api/parallel/slice_machine.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

void SliceMachine::on_all(const std::function<void(int)>& body) {
  if (size() == 1) return on_one(body);
  const std::lock_guard turn(turn_);
  group_.reset();
  first_error_.forget();
  threads_.run([&](int i) {
    try {
      const auto here = device(options.devices[static_cast<size_t>(i)]);
      const ScopedValue<Collectives*> others(thread_context().replica, replica(i));
      const ScopedValue<ReplicaContext*> no_replica(thread_context().replica_context, nullptr);
      body(i);
      group_.leave(i);
    } catch (...) {
      fail(i);
    }
  });
  first_error_.rethrow();
}

// Without a turn: what it computes may come here again, and a slice that is alone meets nobody.
void SliceMachine::on_one(const std::function<void(int)>& body) {
  CaughtError error;
  threads_.run([&](int i) {
    try {
      const auto here = device(options.devices[0]);
      const ScopedValue<Collectives*> others(thread_context().replica, nullptr);
      const ScopedValue<ReplicaContext*> no_replica(thread_context().replica_context, nullptr);
      body(i);
    } catch (...) {
      error.keep(place_of("slice", i, options.devices[static_cast<size_t>(i)]));
    }
  });
  error.rethrow();
}

// Called in a catch block.
void SliceMachine::fail(int i) noexcept {
  group_.cancel(first_error_.keep(place_of("slice", i, options.devices[static_cast<size_t>(i)])));
}

}  // namespace nyala
