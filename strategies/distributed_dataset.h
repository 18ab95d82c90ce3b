#pragma once

#include <iterator>
#include <memory>
#include <vector>

#include <nyala/datasets/base/dataset.h>
#include <nyala/strategies/rows/own_batches.h>

namespace nyala {

class StrategyNode;

/// A global batch, cut: parts[i] holds the rows of replica i of this process on its device, perhaps none.
struct DistributedBatch {
  std::vector<Batch> parts = {};
  int64_t rows = 0;       // of the whole batch
  int64_t first_row = 0;  // where those of parts[0] begin in it
};

/// Whose rows a Dataset's batches hold: those of all replicas, or each one's after the other.
enum class BatchesAre { global, per_replica };

/// The batches of a Dataset, each cut into one part per replica of a strategy; or as many batches as there
/// are replicas, one for each. A small handle.
class DistributedDataset {
 public:
  /// Throws InvalidArgumentError for a Dataset that is not batched.
  DistributedDataset(std::shared_ptr<StrategyNode> strategy, Dataset dataset,
                     BatchesAre batches = BatchesAre::global);

  /// Steps, kInfiniteCardinality or kUnknownCardinality.
  int64_t cardinality() const;

  /// One walk over the batches, for `for (const DistributedBatch& batch : strategy.distribute(dataset))`.
  class Iterator {
   public:
    Iterator(std::shared_ptr<StrategyNode> strategy, const Dataset& dataset, BatchesAre batches);
    const DistributedBatch& operator*() const { return batch_; }
    Iterator& operator++();
    friend bool operator==(const Iterator& a, std::default_sentinel_t) { return !a.more_; }

   private:
    DistributedBatch one_for_each(const Batch& first);
    DistributedBatch cut_among_own(const Batch& batch);

    std::shared_ptr<StrategyNode> strategy_;
    std::shared_ptr<void> pass_;  // ends it, also where the walk is left before its end
    std::shared_ptr<DatasetIterator> batches_;
    std::shared_ptr<detail::OwnBatches> own_;  // in its place, where each process has its own
    BatchesAre batches_are_;
    DistributedBatch batch_;
    bool more_ = true;
  };
  Iterator begin() const { return Iterator(strategy_, dataset_, batches_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::shared_ptr<StrategyNode> strategy_;
  Dataset dataset_;
  BatchesAre batches_;
};

}  // namespace nyala
