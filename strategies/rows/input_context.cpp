#include <nyala/strategies/rows/input_context.h>

#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

int64_t InputContext::get_per_replica_batch_size(int64_t global_batch_size) const {
  if (global_batch_size % num_replicas_in_sync != 0)
    throw InvalidArgumentError("get_per_replica_batch_size: a global batch of " +
                               std::to_string(global_batch_size) + " rows does not divide among " +
                               std::to_string(num_replicas_in_sync) + " replicas");
  return global_batch_size / num_replicas_in_sync;
}

}  // namespace nyala
