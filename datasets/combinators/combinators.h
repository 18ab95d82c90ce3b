#pragma once

#include <functional>
#include <vector>

#include <nyala/datasets/base/dataset.h>

/// One line per step of a pipeline; each is made in the file of its name. Arguments as in Dataset's methods.
namespace nyala::combinators {

DatasetNodePointer array_source(Element arrays);
DatasetNodePointer generator_source(std::function<PullFunction()> make, const GeneratorConfig& config);
DatasetNodePointer zip(std::vector<DatasetNodePointer> inputs);
DatasetNodePointer map(DatasetNodePointer input, MapFunction f, const MapConfig& config);
DatasetNodePointer filter(DatasetNodePointer input, FilterFunction f);
DatasetNodePointer shuffle(DatasetNodePointer input, int64_t buffer_size, const ShuffleConfig& config);
DatasetNodePointer batch(DatasetNodePointer input, int64_t batch_size, const BatchConfig& config);
DatasetNodePointer repeat(DatasetNodePointer input, int64_t count);
DatasetNodePointer prefetch(DatasetNodePointer input, int64_t buffer_size);
DatasetNodePointer cache(DatasetNodePointer input);
DatasetNodePointer take(DatasetNodePointer input, int64_t count);
DatasetNodePointer skip(DatasetNodePointer input, int64_t count);
DatasetNodePointer shard(DatasetNodePointer input, int64_t num_shards, int64_t index);
/// shard(kShardHint, kShardHint).
DatasetNodePointer shard_hint(DatasetNodePointer input);
DatasetNodePointer with_options(DatasetNodePointer input, const DatasetOptions& options);
DatasetNodePointer interleave(DatasetNodePointer input, InterleaveFunction f, const InterleaveConfig& config);

}  // namespace nyala::combinators
