#pragma once

#include <iterator>
#include <memory>
#include <vector>

#include <nyala/datasets/dataset.h>

namespace nyala {

class StrategyNode;

/// A global batch, cut: parts[r] holds replica r's rows on its device, perhaps none.
struct DistributedBatch {
  std::vector<Batch> parts = {};
  int64_t rows = 0;  // of the whole batch
};

/// The batches of a Dataset, each cut into one part per replica of a strategy. A small handle.
class DistributedDataset {
 public:
  /// Throws InvalidArgumentError for a Dataset that is not batched.
  DistributedDataset(std::shared_ptr<StrategyNode> strategy, Dataset dataset);

  /// Batches, kInfiniteCardinality or kUnknownCardinality.
  int64_t cardinality() const { return dataset_.cardinality(); }

  /// One walk over the batches, for `for (const DistributedBatch& batch : strategy.distribute(dataset))`.
  class Iterator {
   public:
    Iterator(std::shared_ptr<StrategyNode> strategy, const Dataset& dataset);
    const DistributedBatch& operator*() const { return batch_; }
    Iterator& operator++();
    friend bool operator==(const Iterator& a, std::default_sentinel_t) { return !a.more_; }

   private:
    std::shared_ptr<StrategyNode> strategy_;
    std::shared_ptr<DatasetIterator> batches_;
    DistributedBatch batch_;
    bool more_ = true;
  };
  Iterator begin() const { return Iterator(strategy_, dataset_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::shared_ptr<StrategyNode> strategy_;
  Dataset dataset_;
};

}  // namespace nyala
