#include <nyala/strategies/distributed_dataset.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

DistributedDataset::DistributedDataset(std::shared_ptr<StrategyNode> strategy, Dataset dataset)
    : strategy_(std::move(strategy)), dataset_(std::move(dataset)) {
  if (dataset_.is_batched() == false)
    throw InvalidArgumentError("distribute: the Dataset is not batched; call .batch(n) on it, n rows for all replicas");
}

DistributedDataset::Iterator::Iterator(std::shared_ptr<StrategyNode> strategy, const Dataset& dataset)
    : strategy_(std::move(strategy)), batches_(std::make_shared<DatasetIterator>(dataset.iterate())) {
  ++*this;
}

DistributedDataset::Iterator& DistributedDataset::Iterator::operator++() {
  Batch batch;
  more_ = batches_->next(batch);
  if (more_) batch_ = strategy_->distribute(batch);
  return *this;
}

}  // namespace nyala
