#include <nyala/strategies/distributed_dataset.h>

#include <algorithm>
#include <exception>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/batch_kind.h>
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
  const auto together = strategy_->meet_in_loop();
  const int64_t batches = dataset_.cardinality();
  const AutoShardPolicy policy = dataset_.options().experimental_distribute.auto_shard_policy;
  if (strategy_->processes() && batches_ == BatchesAre::global && are_own_batches(policy))
    return batches < 0 ? batches : kUnknownCardinality;
  if (batches_ == BatchesAre::global || batches < 0) return batches;
  const int64_t replicas = strategy_->num_local_replicas();
  return (batches + replicas - 1) / replicas;
}

namespace {

/// Its end is that of a walk. Not where an error ends it.
std::shared_ptr<void> pass_of(const std::shared_ptr<StrategyNode>& strategy) {
  if (!strategy->parameter_server_job()) return nullptr;
  return {strategy.get(), [strategy, errors = std::uncaught_exceptions()](void*) {
            if (std::uncaught_exceptions() > errors) return;
            try {
              strategy->end_pass();
            } catch (const std::exception& error) {
              log(LogChannel::warning,
                  std::string("the end of a walk over a DistributedDataset: ") + error.what());
            }
          }};
}

}  // namespace

DistributedDataset::Iterator::Iterator(std::shared_ptr<StrategyNode> strategy, const Dataset& dataset,
                                       BatchesAre batches)
    : strategy_(std::move(strategy)), batches_are_(batches) {
  const auto together = strategy_->meet_in_loop();
  pass_ = pass_of(strategy_);
  const ProcessExchange* const processes = strategy_->processes();
  const AutoShardPolicy policy = dataset.options().experimental_distribute.auto_shard_policy;
  if (processes && batches == BatchesAre::global && are_own_batches(policy))
    own_ = std::make_shared<OwnBatches>(dataset, dataset.node()->next_epoch(), processes->size(),
                                        processes->rank());
  else
    batches_ = std::make_shared<DatasetIterator>(dataset.iterate());
  ++*this;
}

namespace {

struct Said {
  int64_t comes, rows, kind;
};

constexpr const char* kNext = "the next batch of a DistributedDataset";

/// Of each process whether it has a batch, and how many rows; in the order of ranks. `batch` as it comes from
/// the Dataset.
std::vector<Said> asked_of_all(ProcessExchange& processes, bool comes, int64_t rows, const Batch& batch) {
  const std::vector<Said> all = said_by_all(processes, Said{comes, rows, comes ? kind_of(batch) : 0}, kNext);
  const auto first = std::ranges::find_if(all, [](const Said& one) { return one.comes != 0; });
  if (std::ranges::any_of(all, [&](const Said& one) { return one.comes && one.kind != first->kind; }))
    refuse_kinds(processes, comes ? &batch : nullptr, kNext);
  return all;
}

/// Every process walks the same batches.
void check_alike(ProcessExchange& processes, bool comes, int64_t rows, const Batch& batch) {
  const std::vector<Said> all = asked_of_all(processes, comes, rows, batch);
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].comes != all[0].comes || all[rank].rows != all[0].rows)
      throw CommunicationError(
          "distribute: ranks 0 and " + std::to_string(rank) +
          " have different batches; give every process the same Dataset, or make one for "
          "each by distribute_datasets_from_function()");
}

/// Each process has data of its own, `batch` while it `comes`. One whose data has ended goes on without rows
/// until all have.
void join(ProcessExchange& processes, DistributedBatch& batch, bool& comes, const Batch& read) {
  const std::vector<Said> all = asked_of_all(processes, comes, comes ? batch.rows : 0, read);
  const bool some = std::ranges::any_of(all, [](const Said& one) { return one.comes != 0; });
  if (some && !comes) {
    if (batch.parts.empty())
      throw InvalidArgumentError(
          "distribute: the Dataset of this process has no batch, those of others have; expected one at "
          "least");
    for (Batch& part : batch.parts) part = nyala::detail::rows_of(part, 0, 0);
  }
  comes = some;
  batch.rows = batch.first_row = 0;
  for (int rank = 0; rank < processes.size(); ++rank) {
    if (rank == processes.rank()) batch.first_row = batch.rows;
    batch.rows += all[static_cast<size_t>(rank)].rows;
  }
}

}  // namespace

DistributedDataset::Iterator& DistributedDataset::Iterator::operator++() {
  const auto together = strategy_->meet_in_loop();
  Batch batch;
  more_ = own_ ? own_->next(batch) : batches_->next(batch);
  ProcessExchange* const processes = strategy_->processes();
  if (own_) {
    if (more_) batch_ = cut_among_own(batch);
    join(*processes, batch_, more_, batch);
  } else if (batches_are_ == BatchesAre::global) {
    if (processes) check_alike(*processes, more_, more_ ? num_rows(batch, "distribute") : 0, batch);
    if (more_) batch_ = strategy_->distribute(batch);
  } else {
    if (more_) batch_ = one_for_each(batch);
    if (processes) join(*processes, batch_, more_, batch);
  }
  if (!more_) pass_.reset();
  return *this;
}

// Equal shares; the place among all rows is not known yet.
DistributedBatch DistributedDataset::Iterator::cut_among_own(const Batch& batch) {
  DistributedBatch out;
  out.rows = num_rows(batch, "distribute");
  const int64_t replicas = strategy_->num_local_replicas();
  for (int64_t index = 0, first = 0; index < replicas; ++index) {
    const int64_t count = out.rows / replicas + (index < out.rows % replicas ? 1 : 0);
    Batch part = nyala::detail::rows_of(batch, first, count);
    first += count;
    for_each_tensor(part,
                    [&](Tensor& tensor) { tensor = strategy_->place(tensor, static_cast<int>(index)); });
    out.parts.push_back(std::move(part));
  }
  return out;
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
