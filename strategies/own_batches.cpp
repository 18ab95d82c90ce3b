#include <nyala/strategies/own_batches.h>

#include <algorithm>

namespace nyala::detail {

bool are_own_batches(AutoShardPolicy policy) {
  return policy == AutoShardPolicy::off || policy == AutoShardPolicy::file;
}

OwnBatches::OwnBatches(const Dataset& dataset, int64_t epoch, int processes, int process)
    : dataset_(dataset), pieces_(processes) {
  Iteration iteration{.epoch = epoch};
  if (dataset.options().experimental_distribute.auto_shard_policy == AutoShardPolicy::file) {
    iteration.num_file_shards = processes;
    iteration.file_shard = process;
  }
  stream_ = dataset_.node()->elements(iteration);
}

bool OwnBatches::fetch() {
  while (next_ == pieces_ || rows_ == 0) {
    next_ = rows_ = 0;
    if (!stream_->next(batch_)) return false;
    rows_ = num_rows(batch_, "a batch");
  }
  return true;
}

bool OwnBatches::next(Batch& piece) {
  while (fetch()) {
    const int64_t share = rows_ / pieces_, larger = rows_ % pieces_, index = next_++;
    const int64_t count = share + (index < larger ? 1 : 0);
    if (count == 0) continue;  // fewer rows than pieces
    piece = rows_of(batch_, index * share + std::min(index, larger), count);
    return true;
  }
  return false;
}

int64_t OwnBatches::skip(int64_t count) {
  int64_t skipped = 0;
  for (Batch piece; skipped < count && next(piece);) ++skipped;
  return skipped;
}

}  // namespace nyala::detail
