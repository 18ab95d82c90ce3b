#pragma once

#include <cstdint>

namespace nyala {

/// How the processes of a strategy share a Dataset (tf.data's AutoShardPolicy). With `automatic`, `data` and
/// `hint` the batches are the global ones and training has one device's numbers.
enum class AutoShardPolicy : int8_t {
  off = -1,       ///< each process reads all, in pieces of a batch: rows are repeated where data is the same
  automatic = 0,  ///< as `data` (TensorFlow: AUTO)
  file = 1,       ///< each process reads files of its own: batches have other rows than one device's
  data = 2,  ///< of each batch a process takes the rows of its replicas, and makes no others where it can
  hint = 3,  ///< the same, and others end at shard(kShardHint, kShardHint), also those of a generator
};

/// For both arguments of Dataset::shard(): the place at which AutoShardPolicy::hint leaves out rows of others
/// (tf.data.experimental.SHARD_HINT).
inline constexpr int64_t kShardHint = -1;

/// tf.data's DistributeOptions.
struct DistributeOptions {
  AutoShardPolicy auto_shard_policy = AutoShardPolicy::automatic;
};

/// tf.data's Options, for Dataset::with_options().
struct DatasetOptions {
  DistributeOptions experimental_distribute = {};
};

}  // namespace nyala
