#include <nyala/strategies/rows/own_batches.h>

#include <nyala/strategies/rows/equal_piece.h>

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
    const RowRange range = equal_piece(rows_, pieces_, next_++);
    if (range.count == 0) continue;  // fewer rows than pieces
    piece = rows_of(batch_, range.first, range.count);
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
