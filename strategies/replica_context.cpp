#include <nyala/strategies/replica_context.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

using namespace nyala::detail;

Strategy ReplicaContext::strategy() const { return Strategy(handle_on(*node)); }

void ReplicaContext::check_is_current(const char* what) const {
  const ReplicaContext* current = get_replica_context();
  if (!current) throw StateError(std::string(what) + " needs to be inside a function that run() calls");
  if (current != this)
    throw StateError(std::string("mismatching ReplicaContext: ") + what + " was called on replica " +
                     std::to_string(id) + " by the thread of replica " + std::to_string(current->id) +
                     " or of another run(); use the one that this run() passes");
}

}  // namespace nyala
