#pragma once

#include <memory>
#include <optional>
#include <string>

#include <nyala/api/model/config/class_weight.h>
#include <nyala/api/model/config/data_argument.h>
#include <nyala/datasets/base/partial_batches.h>
#include <nyala/strategies/rows/own_batches.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

/// Where the rows of a Batch are in the whole one.
struct BatchPlace {
  int64_t first = 0;
  int64_t rows = 0;  // of the whole batch; 0: the Batch is whole
  /// That many rows are this process' own, whatever the rule of the strategy (AutoShardPolicy::off, file);
  /// -1: the rule holds.
  int64_t own = -1;
};

/// The rows of the whole batch that a replica of this process takes.
RowRange rows_of_replica(const StrategyNode& strategy, const BatchPlace& place, int local_index);

struct FeedConfig {
  int64_t batch_size = 0;  // 0: 32 for arrays
  bool shuffle = false;
  uint64_t shuffle_seed = 0;
  ClassWeight class_weight = {};
  int64_t steps_per_epoch = 0;  // 0: until the data ends
  std::string what = "fit";     // for messages
  /// Set: of each batch only the rows of this strategy's replicas in this process are read where the data can
  /// be read so, as arrays can and what is found by position and then batched.
  StrategyNode* reads_for = nullptr;
  /// Every process gets the same batches, whatever the Dataset's AutoShardPolicy: a warning says so.
  bool same_batches = false;
};

/// Gives each row of `batch` the weight of its class, 1 where it has none. Throws InvalidArgumentError for
/// several targets and for rows that have weights.
void weigh_classes(Batch& batch, const ClassWeight& class_weight);

/// Yields the batches of one epoch after another, from arrays or from a Dataset.
class Feed {
 public:
  /// Throws InvalidArgumentError for a batch size with a Dataset, an unbatched Dataset, an infinite one
  /// without steps, arrays of different lengths or without rows.
  Feed(const DataArgument& data, FeedConfig config);

  /// Batches per epoch, -1 while unknown.
  int64_t steps() const { return steps_; }
  void begin_epoch(int64_t epoch);
  /// Begins `epoch` at `batch`, as if every epoch from `first` on had been fed. Returns the batch where it
  /// stands: 0, with a warning, for data that cannot be replayed (behind a generator).
  int64_t resume(int64_t first, int64_t epoch, int64_t batch);
  /// next() will give batch `batch` of `epoch`, from wherever it stands. False where the data ends before.
  bool seek(int64_t epoch, int64_t batch);
  /// False at the end of the epoch.
  bool next(Batch& batch);
  /// Of what next() gave last.
  const BatchPlace& place() const { return place_; }
  void set_place(const BatchPlace& place) { place_ = place; }
  /// Whether batches are this process' own: others have other ones, perhaps more of them or fewer.
  bool is_own() const { return own_ != nullptr; }
  /// True if a pass over the data ended without one batch.
  bool is_empty() const { return ran_out_ && seen_ == 0; }
  /// True if the data ended before steps_per_epoch batches came.
  bool ran_out() const { return ran_out_; }

 private:
  void start(int64_t epoch);
  bool is_at_end() const { return length_ >= 0 && seen_ >= length_; }
  void skip(int64_t batches);
  bool pull(Batch& batch);
  PartialBatches::Choice own_rows() const;
  bool shares() const { return config_.reads_for && config_.reads_for->processes(); }
  AutoShardPolicy policy() const;
  bool takes_own_batches() const;

  FeedConfig config_;
  Dataset dataset_;
  std::optional<DatasetIterator> iterator_;
  std::unique_ptr<ItemStream<PartOfBatch>> parts_;  // in place of iterator_
  std::unique_ptr<detail::OwnBatches> own_;         // likewise
  BatchPlace place_;
  int64_t steps_ = -1;
  int64_t epoch_ = 0;
  int64_t length_ = -1;  // batches of one pass over the data, -1 while unknown
  int64_t seen_ = 0;     // of this pass
  int64_t taken_ = 0;    // of this epoch
  bool ran_out_ = false;
};

/// Of the whole batch of what `feed` gave last.
int64_t global_rows(const Feed& feed, const Batch& batch);

}  // namespace nyala
