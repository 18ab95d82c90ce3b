#pragma once

#include <cstdint>

namespace nyala {

/// What a function that makes a Dataset for a strategy is told.
struct InputContext {
  int num_input_pipelines = 1;
  int input_pipeline_id = 0;
  int num_replicas_in_sync = 1;

  /// `global_batch_size` / replicas. Throws InvalidArgumentError where it does not divide.
  int64_t get_per_replica_batch_size(int64_t global_batch_size) const;
};

/// What a function that makes one value per replica is told.
struct ValueContext {
  int replica_id_in_sync_group = 0;
  int num_replicas_in_sync = 1;
};

}  // namespace nyala
