// One counter for all variables of the process. Whoever keeps something that hangs on which variables there
// are compares it with what it was, which costs one load per step instead of a walk over a model's layers.
#include <nyala/backend/parameters/variable_changes.h>

#include <atomic>

namespace nyala {

namespace {

std::atomic<uint64_t>& counter() noexcept {
  static constinit std::atomic<uint64_t> changes{1};
  return changes;
}

}  // namespace

uint64_t detail::variable_changes() noexcept { return counter().load(std::memory_order_acquire); }

void detail::note_variable_change() noexcept { counter().fetch_add(1, std::memory_order_acq_rel); }

}  // namespace nyala
