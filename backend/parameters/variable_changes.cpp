// One counter for all variables of the process. Whoever keeps something that hangs on which variables there
// are compares it with what it was, which costs one load per step instead of a walk over a model's layers.
#include <nyala/backend/parameters/variable_changes.h>

#include <atomic>

namespace nyala {

namespace {

constinit std::atomic<uint64_t> g_changes{1};

}  // namespace

uint64_t detail::variable_changes() noexcept { return g_changes.load(std::memory_order_acquire); }

void detail::note_variable_change() noexcept { g_changes.fetch_add(1, std::memory_order_acq_rel); }

}  // namespace nyala
