#pragma once

#include <vector>

#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/training/state/epoch_sums.h>
#include <nyala/api/training/feed.h>
#include <nyala/backend/parameters/call.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

/// What training asks of a strategy's other processes, in a place of its own: of a strategy without others
/// each is what the process itself says.

/// Whether a loop goes on with another batch.
enum class NextBatch { comes, is_none, is_not_wanted };

struct NextBatchHere {
  bool stops = false;  // somebody asked for the end of training
  bool comes = false;
  int64_t rows = 0;
  bool own = false;              // others may have more or fewer rows, or none any more
  const Batch* batch = nullptr;  // the one that comes; what it is made of is the same everywhere
};

/// The same on all processes. Where one stops, all do. Throws CommunicationError where some have a batch and
/// others none, or batches of other rows: every process is given the whole batches; StateError where they are
/// made of other things (kind_of()). Of batches that are each process' own `place` becomes where this one's
/// are.
NextBatch next_of_all(StrategyNode& strategy, const NextBatchHere& here, BatchPlace* place = nullptr);
/// The next of `feed`'s batches in this way. A process whose own batches have ended while others' have not
/// gets the last one without rows.
NextBatch next_of_all(StrategyNode& strategy, Feed& feed, Batch& batch, bool stops = false);
/// What `verbose` of fit, evaluate and predict means: where it is not given only rank 0 shows something.
int resolved_verbosity(StrategyNode& strategy, int verbose);
/// Whether some process stops.
bool any_stops(StrategyNode& strategy, bool stops);

/// The sums of all processes' replicas and what a train_step() logged on them, beside those of this one.
void gather_sums(StrategyNode& strategy, EpochSums& sums);

/// The parts of a model's own metrics from all processes, so that they read the same everywhere.
void bring_together(StrategyNode& strategy, const std::vector<Metric>& metrics);

/// The rows of a whole batch, of which `own` are those of this process' replicas: on the host, where there
/// are other processes.
Tensor rows_of_all(StrategyNode& strategy, const Tensor& own);

/// Writes the state that layers assigned in `calls`, one per replica of this process, by each variable's
/// aggregation.
void apply_assignments(StrategyNode& strategy, const std::vector<Call>& calls);

}  // namespace nyala
