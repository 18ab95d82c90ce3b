#include <nyala/datasets/base/dataset.h>

#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const Tensor& only(const Tensors& tensors, const char* name) {
  if (tensors.size() == 1) return tensors.front();
  throw InvalidArgumentError(std::string("Dataset: expected elements with one ") + name +
                             " for a function of tensors, received " + std::to_string(tensors.size()) +
                             "; give a function of Element instead");
}

}  // namespace

const Tensor& detail::only_x(const Element& element) { return only(element.x, "x"); }
const Tensor& detail::only_y(const Element& element) { return only(element.y, "y"); }

const DatasetNodePointer& Dataset::checked() const {
  if (!node_)
    throw StateError("Dataset: an empty handle; make one with from_tensor_slices or from_generator");
  return node_;
}

Dataset Dataset::from_tensor_slices(Element arrays) {
  return Dataset(combinators::array_source(std::move(arrays)));
}

Dataset Dataset::from_generator(std::function<PullFunction()> make, const GeneratorConfig& config) {
  return Dataset(combinators::generator_source(std::move(make), config));
}

Dataset Dataset::zip(const std::vector<Dataset>& datasets) {
  std::vector<DatasetNodePointer> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.checked());
  return Dataset(combinators::zip(std::move(inputs)));
}

Dataset Dataset::map_elements(MapFunction f, const MapConfig& config) const {
  return Dataset(combinators::map(checked(), std::move(f), config));
}

Dataset Dataset::filter_elements(FilterFunction f) const {
  return Dataset(combinators::filter(checked(), std::move(f)));
}

Dataset Dataset::shuffle(int64_t buffer_size, const ShuffleConfig& config) const {
  return Dataset(combinators::shuffle(checked(), buffer_size, config));
}

Dataset Dataset::batch(int64_t batch_size, const BatchConfig& config) const {
  return Dataset(combinators::batch(checked(), batch_size, config));
}

Dataset Dataset::repeat(int64_t count) const { return Dataset(combinators::repeat(checked(), count)); }

Dataset Dataset::prefetch(int64_t buffer_size) const {
  return Dataset(combinators::prefetch(checked(), buffer_size));
}

Dataset Dataset::cache() const { return Dataset(combinators::cache(checked())); }

Dataset Dataset::take(int64_t count) const { return Dataset(combinators::take(checked(), count)); }

Dataset Dataset::skip(int64_t count) const { return Dataset(combinators::skip(checked(), count)); }

Dataset Dataset::shard(int64_t num_shards, int64_t index) const {
  return Dataset(combinators::shard(checked(), num_shards, index));
}

Dataset Dataset::interleave(InterleaveFunction f, const InterleaveConfig& config) const {
  return Dataset(combinators::interleave(checked(), std::move(f), config));
}

Dataset Dataset::with_options(const DatasetOptions& options) const {
  return Dataset(combinators::with_options(checked(), options));
}

DatasetOptions Dataset::options() const { return checked()->options(); }

int64_t Dataset::cardinality() const { return checked()->cardinality(); }

bool Dataset::is_index_based() const { return checked()->is_index_based(); }

std::optional<bool> Dataset::is_batched() const { return checked()->is_batched(); }

DatasetIterator Dataset::iterate(const IterationConfig& config) const {
  const DatasetNodePointer& node = checked();
  return DatasetIterator(node, config.epoch ? *config.epoch : node->next_epoch());
}

}  // namespace nyala
