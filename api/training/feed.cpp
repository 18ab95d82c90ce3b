// Arrays become a Dataset, so that there is one way to batches. With a number of steps an epoch ends there
// and the next goes on in the data, as in Keras. Where there are other processes and the Dataset can, only
// the rows of this one's replicas are made.
#include <nyala/api/training/feed.h>

#include <algorithm>
#include <cmath>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/rows/equal_piece.h>

namespace nyala {

namespace {

constexpr int64_t kDefaultBatchSize = 32;

Dataset from_arrays(const DataArgument& data, const FeedConfig& config) {
  const int64_t rows = data.rows();
  if (config.batch_size < 0)
    throw InvalidArgumentError(config.what + ": expected a batch_size of at least 1, received " +
                               std::to_string(config.batch_size));
  if (rows <= 0) throw InvalidArgumentError(config.what + ": the data has no rows");
  Dataset dataset = Dataset::from_tensor_slices(data.arrays());
  if (config.shuffle) dataset = dataset.shuffle(rows, {.seed = config.shuffle_seed});
  return dataset.batch(config.batch_size > 0 ? config.batch_size : kDefaultBatchSize);
}

Dataset from_dataset(const DataArgument& data, const FeedConfig& config) {
  if (config.batch_size != 0)
    throw InvalidArgumentError(config.what +
                               ": batch_size belongs to arrays; a Dataset brings its own batches, use "
                               "dataset.batch(n)");
  if (data.dataset().is_batched() == false)
    throw InvalidArgumentError(config.what + ": the Dataset is not batched; call .batch(n) on it");
  if (data.dataset().cardinality() == kInfiniteCardinality && config.steps_per_epoch == 0)
    throw InvalidArgumentError(config.what + ": the Dataset never ends; give the number of steps");
  return data.dataset();
}

}  // namespace

Feed::Feed(const DataArgument& data, FeedConfig config)
    : config_(std::move(config)),
      dataset_(data.is_dataset() ? from_dataset(data, config_) : from_arrays(data, config_)) {
  if (config_.steps_per_epoch < 0)
    throw InvalidArgumentError(config_.what + ": expected a number of steps of at least 0, received " +
                               std::to_string(config_.steps_per_epoch));
  if (config_.steps_per_epoch > 0)
    steps_ = config_.steps_per_epoch;
  else if (dataset_.cardinality() >= 0)
    steps_ = dataset_.cardinality();
  length_ = std::max<int64_t>(dataset_.cardinality(), -1);
  if (shares() && detail::are_own_batches(policy()) && config_.same_batches)
    log(LogChannel::warning,
        config_.what +
            ": the Dataset's AutoShardPolicy is off or file, which gives each process rows "
            "of its own; here data is used, so that rows keep their order");
  if (!takes_own_batches()) return;
  length_ = -1;
  if (config_.steps_per_epoch == 0) steps_ = -1;
}

AutoShardPolicy Feed::policy() const { return dataset_.options().experimental_distribute.auto_shard_policy; }

bool Feed::takes_own_batches() const {
  return shares() && detail::are_own_batches(policy()) && !config_.same_batches;
}

RowRange rows_of_replica(const StrategyNode& strategy, const BatchPlace& place, int local_index) {
  if (place.own < 0) return strategy.rows_of(strategy.replica_id(local_index), place.rows);
  const RowRange of_own = detail::equal_piece(place.own, strategy.num_local_replicas(), local_index);
  return {place.first + of_own.first, of_own.count};
}

PartialBatches::Choice Feed::own_rows() const {
  return [strategy = config_.reads_for](int64_t rows) {
    const RowRange first = strategy->rows_of(strategy->replica_id(0), rows),
                   last = strategy->rows_of(strategy->replica_id(strategy->num_local_replicas() - 1), rows);
    return std::pair{first.first, last.first + last.count - first.first};
  };
}

void Feed::start(int64_t epoch) {
  iterator_.reset();
  parts_.reset();
  own_.reset();
  seen_ = 0;
  if (takes_own_batches()) {
    const ProcessExchange& processes = *config_.reads_for->processes();
    own_ = std::make_unique<detail::OwnBatches>(dataset_, epoch, processes.size(), processes.rank());
    return;
  }
  if (shares()) {
    Iteration iteration{.epoch = epoch};
    if (policy() == AutoShardPolicy::hint) iteration.hint = std::make_shared<ShardHint*>();
    try {
      if (const auto* node = dynamic_cast<const PartialBatches*>(dataset_.node().get()))
        parts_ = node->parts(iteration, own_rows());
      if (iteration.hint && !parts_)
        throw InvalidArgumentError(
            "AutoShardPolicy::hint: expected a Dataset that ends with batch(), or with prefetch() behind it");
    } catch (const InvalidArgumentError&) {
      detail::rethrow_with_prefix(config_.what + (config_.what == "fit" ? ": training data: " : ": "));
    }
  }
  if (!parts_) iterator_.emplace(dataset_.iterate({.epoch = epoch}));
}

bool Feed::pull(Batch& batch) {
  place_ = {};
  if (own_) return own_->next(batch);
  if (!parts_) return iterator_->next(batch);
  PartOfBatch part;
  if (!parts_->next(part)) return false;
  batch = std::move(part.rows);
  place_ = {part.first, part.batch_rows};
  return true;
}

// With a number of steps the data goes on where the last epoch stopped, as in Keras.
void Feed::begin_epoch(int64_t epoch) {
  if ((!iterator_ && !parts_ && !own_) || config_.steps_per_epoch == 0 || ran_out_ || is_at_end())
    start(epoch);
  epoch_ = epoch;
  taken_ = 0;
  ran_out_ = false;
}

void Feed::skip(int64_t batches) {
  const int64_t skipped = own_     ? own_->skip(batches)
                          : parts_ ? parts_->skip(batches)
                                   : iterator_->skip(batches);
  taken_ += skipped;
  seen_ += skipped;
  ran_out_ = skipped < batches && config_.steps_per_epoch > 0;
}

int64_t Feed::resume(int64_t first, int64_t epoch, int64_t batch) {
  const bool runs_on = config_.steps_per_epoch > 0;  // the data does not begin anew with each epoch
  if ((batch > 0 || (runs_on && epoch > first)) && !dataset_.is_index_based()) {
    log(LogChannel::warning, config_.what +
                                 ": the data comes from a generator and cannot be replayed to batch " +
                                 std::to_string(batch) + " of epoch " + std::to_string(epoch + 1) +
                                 "; the epoch begins with the generator's first element");
    begin_epoch(epoch);
    return 0;
  }
  for (int64_t past = first; runs_on && past < epoch; ++past) {
    begin_epoch(past);
    skip(config_.steps_per_epoch);
  }
  begin_epoch(epoch);
  // The last of several batches at once (steps_per_execution) counts as if all were there.
  if (batch > 0) skip(runs_on ? std::min(batch, config_.steps_per_epoch) : batch);
  return batch;
}

// With a number of steps the data goes on from epoch to epoch: batch b of epoch e is then the one behind all
// of the epochs before.
bool Feed::seek(int64_t epoch, int64_t batch) {
  const bool runs_on = config_.steps_per_epoch > 0, begun = iterator_ || parts_ || own_;
  const int64_t ahead =
      runs_on ? (epoch - epoch_) * config_.steps_per_epoch + batch - taken_ : batch - taken_;
  if (!begun || ahead < 0 || (!runs_on && epoch != epoch_)) {
    iterator_.reset(), parts_.reset(), own_.reset();
    for (int64_t past = runs_on ? 0 : epoch; past < epoch; ++past) {
      begin_epoch(past);
      skip(config_.steps_per_epoch);
    }
    begin_epoch(epoch);
  }
  while (runs_on && epoch_ < epoch) {
    skip(config_.steps_per_epoch - taken_);
    begin_epoch(epoch_ + 1);
  }
  skip(batch - taken_);
  return taken_ == batch;
}

bool Feed::next(Batch& batch) {
  if (config_.steps_per_epoch > 0 && taken_ == config_.steps_per_epoch) return false;
  bool more = pull(batch);
  if (!more && taken_ == 0 && seen_ > 0) {  // the last epoch ended with the data, whose length was unknown
    length_ = seen_;
    start(epoch_);
    more = pull(batch);
  }
  if (!more) {
    ran_out_ = config_.steps_per_epoch > 0 || taken_ == 0;
    if (config_.steps_per_epoch == 0) steps_ = taken_;
    return false;
  }
  ++taken_;
  ++seen_;
  if (!config_.class_weight.empty()) weigh_classes(batch, config_.class_weight);
  return true;
}

int64_t global_rows(const Feed& feed, const Batch& batch) {
  return feed.place().rows > 0 ? feed.place().rows : detail::num_rows(batch, "a batch");
}

namespace {

/// The class of each row: the label itself (rounded), or the position of the largest entry of a one-hot row.
std::vector<int64_t> classes_of(const Tensor& y) {
  const std::vector<double> values = ops::cast(y, DType::float64).to_vector<double>();
  const int64_t rows = y.shape()[0];
  const int64_t width = rows > 0 ? static_cast<int64_t>(values.size()) / rows : 1;
  std::vector<int64_t> classes;
  for (int64_t row = 0; row < rows; ++row) {
    const double* first = values.data() + row * width;
    classes.push_back(width == 1 ? std::llround(*first) : std::max_element(first, first + width) - first);
  }
  return classes;
}

}  // namespace

void weigh_classes(Batch& batch, const ClassWeight& class_weight) {
  if (batch.y.size() != 1)
    throw InvalidArgumentError("class_weight works for one target, this data has " +
                               std::to_string(batch.y.size()));
  if (batch.sample_weight.defined())
    throw InvalidArgumentError("class_weight and sample_weight cannot be used together");
  std::vector<float> weights;
  for (int64_t label : classes_of(batch.y[0])) {
    const auto found = class_weight.find(label);
    weights.push_back(found == class_weight.end() ? 1.0f : static_cast<float>(found->second));
  }
  batch.sample_weight = Tensor::from(weights);
}

}  // namespace nyala
