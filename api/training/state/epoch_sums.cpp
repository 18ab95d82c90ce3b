// Running sums of an epoch are one float64 vector per replica, added up by the host when somebody reads them.
// A checkpoint keeps them replica by replica, so that the same devices go on bit by bit; on another number of
// devices the first takes all, and metrics split theirs by their own rule.
#include <nyala/api/training/state/epoch_sums.h>

#include <algorithm>

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

const Tensors& sums_to_read(const EpochSums& sums) {
  return sums.of_all.empty() ? sums.of_replicas : sums.of_all;
}

SavedSums saved_sums(const EpochSums& sums) {
  if (sums.of_replicas.empty()) return sums.restored;
  const Tensors& all = sums_to_read(sums);
  SavedSums saved{std::ssize(all), {}, sums.rows};
  for (const Tensor& of_replica : all) {
    const std::vector<double> own = of_replica.to_vector<double>();
    saved.values.insert(saved.values.end(), own.begin(), own.end());
  }
  return saved;
}

namespace {

using Sums = std::vector<double>;

/// The part of a metric.
Sums part_of(const Sums& sums, const CompiledMetric& metric) {
  const auto first = sums.begin() + metric.first_sum;
  return {first, first + metric.metric.node().state_size()};
}

void put(const Sums& part, const CompiledMetric& metric, Sums& sums) {
  std::copy(part.begin(), part.end(), sums.begin() + metric.first_sum);
}

/// Added up, metrics as they say.
Sums merged(const CompiledTraining& compiled, const std::vector<Sums>& replicas) {
  Sums sums(static_cast<size_t>(compiled.num_sums), 0.0);
  for (const Sums& own : replicas)
    for (size_t i = 0; i < own.size(); ++i) sums[i] += own[i];
  for (const CompiledMetric& metric : compiled.metrics) {
    std::vector<Sums> parts;
    for (const Sums& own : replicas) parts.push_back(part_of(own, metric));
    put(parts.empty() ? metric.metric.node().initial_state() : metric.metric.node().merged(parts), metric,
        sums);
  }
  return sums;
}

/// What each of `count` replicas goes on with.
std::vector<Sums> shares_of(const CompiledTraining& compiled, const Sums& sums, size_t count) {
  std::vector<Sums> replicas(count, Sums(sums.size(), 0.0));
  replicas[0] = sums;
  for (const CompiledMetric& metric : compiled.metrics)
    for (size_t i = 0; i < count; ++i)
      put(metric.metric.node().share_of(part_of(sums, metric), static_cast<int>(i)), metric, replicas[i]);
  return replicas;
}

}  // namespace

std::vector<double> summed(const CompiledTraining& compiled, const Tensors& of_replicas) {
  std::vector<Sums> replicas;
  for (const Tensor& own : of_replicas) replicas.push_back(own.to_vector<double>());
  return merged(compiled, replicas);
}

void begin_sums(const CompiledTraining& compiled, const Tensor& sums) {
  ops::detail::fill_zero(sums);
  for (const CompiledMetric& metric : compiled.metrics) {
    const Sums initial = metric.metric.node().initial_state();
    if (std::any_of(initial.begin(), initial.end(), [](double value) { return value != 0.0; }))
      sums.rows(metric.first_sum, static_cast<int64_t>(initial.size())).copy_from_host(initial.data());
  }
}

void restore_sums(const CompiledTraining& compiled, EpochSums& sums, SavedSums saved,
                  const StrategyNode& strategy) {
  sums.rows = saved.rows;
  sums.restored = std::move(saved);
  if (sums.of_replicas.empty()) return;
  const SavedSums& from = sums.restored;
  const size_t width = static_cast<size_t>(compiled.num_sums),
               replicas = static_cast<size_t>(strategy.num_replicas_in_sync()),
               first = static_cast<size_t>(strategy.replica_id(0));
  std::vector<Sums> values;
  if (from.parts > 0 && from.values.size() == width * static_cast<size_t>(from.parts)) {
    for (auto own = from.values.begin(); own != from.values.end(); own += static_cast<std::ptrdiff_t>(width))
      values.emplace_back(own, own + static_cast<std::ptrdiff_t>(width));
    if (values.size() != replicas) values = shares_of(compiled, merged(compiled, values), replicas);
  } else if (from.parts > 0) {
    log(LogChannel::warning,
        "the checkpoint was made with other losses or metrics; those of the epoch that it "
        "interrupts begin anew");
    sums.rows = 0;
  }
  for (size_t i = 0; i < sums.of_replicas.size(); ++i) {
    if (values.empty())
      begin_sums(compiled, sums.of_replicas[i]);
    else
      sums.of_replicas[i].copy_from_host(values[first + i].data());
  }
  sums.of_all.clear();
  if (replicas > sums.of_replicas.size())
    for (const Sums& of_replica : values) sums.of_all.push_back(Tensor::from(of_replica));
  sums.restored = {};
}

}  // namespace nyala
