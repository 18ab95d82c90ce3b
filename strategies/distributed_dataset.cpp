#include <nyala/strategies/distributed_dataset.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

using namespace nyala::detail;

DistributedDataset::DistributedDataset(std::shared_ptr<StrategyNode> strategy, Dataset dataset,
                                       BatchesAre batches)
    : strategy_(std::move(strategy)), dataset_(std::move(dataset)), batches_(batches) {
  if (dataset_.is_batched() == false)
    throw InvalidArgumentError(
        batches == BatchesAre::global
            ? "distribute: the Dataset is not batched; call .batch(n) on it, n rows for all replicas"
            : "distribute_datasets_from_function: the Dataset is not batched; call .batch(n) on it, n rows "
              "for "
              "each replica");
}

int64_t DistributedDataset::cardinality() const {
  const int64_t batches = dataset_.cardinality();
  if (batches_ == BatchesAre::global || batches < 0) return batches;
  const int64_t replicas = strategy_->num_local_replicas();
  return (batches + replicas - 1) / replicas;
}

DistributedDataset::Iterator::Iterator(std::shared_ptr<StrategyNode> strategy, const Dataset& dataset,
                                       BatchesAre batches)
    : strategy_(std::move(strategy)),
      batches_(std::make_shared<DatasetIterator>(dataset.iterate())),
      batches_are_(batches) {
  ++*this;
}

DistributedDataset::Iterator& DistributedDataset::Iterator::operator++() {
  Batch batch;
  more_ = batches_->next(batch);
  if (more_) batch_ = batches_are_ == BatchesAre::global ? strategy_->distribute(batch) : one_for_each(batch);
  return *this;
}

// A replica for which no batch is left gets one without rows and still takes part.
DistributedBatch DistributedDataset::Iterator::one_for_each(const Batch& first) {
  DistributedBatch out;
  bool more = true;
  for (int index = 0; index < strategy_->num_local_replicas(); ++index) {
    Batch part = first;
    if (index > 0) {
      more = more && batches_->next(part);
      if (!more) part = nyala::detail::rows_of(first, 0, 0);
    }
    out.rows += num_rows(part, "distribute_datasets_from_function");
    for_each_tensor(part, [&](Tensor& tensor) { tensor = strategy_->place(tensor, index); });
    out.parts.push_back(std::move(part));
  }
  return out;
}

}  // namespace nyala
