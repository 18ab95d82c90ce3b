// A key per draw: seed, stream and how many draws the stream has made. The numbers of one draw are Philox
// under that key, so that skipping is adding to a count and a state is two numbers per stream.
#include <nyala/strategies/generator.h>

#include <algorithm>
#include <mutex>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/ops/random/random.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/contexts.h>

namespace nyala {

using namespace nyala::detail;

/// Stream i draws with keys mixed of seed, i and the number of its draws.
struct GeneratorState {
  Mutex mutex;
  uint64_t seed = 0;
  std::vector<int64_t> draws;  // per stream
};

namespace {

std::shared_ptr<GeneratorState> make_state(uint64_t seed) {
  auto state = std::make_shared<GeneratorState>();
  state->seed = seed;
  const int streams = has_strategy() ? current_strategy()->num_replicas_in_sync() : 1;
  state->draws.assign(static_cast<size_t>(streams), 0);
  return state;
}

/// The streams that a draw here takes from: the replica's, or all.
std::pair<size_t, size_t> streams_here(const GeneratorState& state) {
  const ReplicaContext* inside = thread_context().replica_context;
  if (!inside || state.draws.size() == 1) return {0, state.draws.size()};
  const size_t own = static_cast<size_t>(inside->id) % state.draws.size();
  return {own, own + 1};
}

ops::RandomOptions options(uint64_t key, DType dtype) {
  return {.key = key, .dtype = dtype, .device = thread_context().device};
}

}  // namespace

Generator::Generator() : Generator(make_state(next_unseeded_key())) {}

Generator Generator::from_seed(uint64_t seed) { return Generator(make_state(seed)); }

Generator Generator::from_state(const Tensor& state) {
  Generator made(make_state(0));
  made.reset(state);
  return made;
}

uint64_t Generator::next_key() const {
  GeneratorState& own = held_state();
  std::lock_guard lock(own.mutex);
  const auto [first, end] = streams_here(own);
  const uint64_t key = mix_key(mix_key(own.seed, uint64_t{first}), static_cast<uint64_t>(own.draws[first]));
  for (size_t stream = first; stream < end; ++stream) ++own.draws[stream];
  return key;
}

Tensor Generator::uniform(const Shape& shape, double low, double high, DType dtype) const {
  return ops::random_uniform(shape, low, high, options(next_key(), dtype));
}

Tensor Generator::normal(const Shape& shape, double mean, double stddev, DType dtype) const {
  return ops::random_normal(shape, mean, stddev, options(next_key(), dtype));
}

Tensor Generator::truncated_normal(const Shape& shape, double mean, double stddev, DType dtype) const {
  return ops::random_truncated_normal(shape, mean, stddev, options(next_key(), dtype));
}

void Generator::skip(int64_t draws) const {
  if (draws < 0)
    throw InvalidArgumentError("Generator.skip: expected a number >= 0, received " + std::to_string(draws));
  GeneratorState& own = held_state();
  std::lock_guard lock(own.mutex);
  const auto [first, end] = streams_here(own);
  for (size_t stream = first; stream < end; ++stream) own.draws[stream] += draws;
}

std::vector<Generator> Generator::split(int count) const {
  if (count < 0)
    throw InvalidArgumentError("Generator.split: expected a number >= 0, received " + std::to_string(count));
  const uint64_t key = mix_key(next_key(), "split");
  std::vector<Generator> generators;
  for (int i = 0; i < count; ++i) generators.push_back(from_seed(mix_key(key, static_cast<uint64_t>(i))));
  return generators;
}

Tensor Generator::state() const {
  GeneratorState& own = held_state();
  std::lock_guard lock(own.mutex);
  std::vector<int64_t> values;
  for (const int64_t draws : own.draws) {
    values.push_back(static_cast<int64_t>(own.seed));
    values.push_back(draws);
  }
  return Tensor::from(values, {static_cast<int64_t>(own.draws.size()), 2}, Device{});
}

void Generator::reset(const Tensor& state) const {
  if (state.dtype() != DType::int64 || state.rank() != 2 || state.shape()[1] != 2 || state.shape()[0] == 0)
    throw InvalidArgumentError("Generator: expected a state of int64 (streams, 2), received " +
                               std::string(name_of(state.dtype())) + " " + state.shape().to_string());
  const std::vector<int64_t> values = state.to_vector<int64_t>();
  GeneratorState& own = held_state();
  std::lock_guard lock(own.mutex);
  own.seed = static_cast<uint64_t>(values[0]);
  for (size_t i = 0; i < own.draws.size(); ++i)
    own.draws[i] = 2 * i + 1 < values.size() ? values[2 * i + 1] : 0;
}

void Generator::reset_from_seed(uint64_t seed) const {
  GeneratorState& own = held_state();
  std::lock_guard lock(own.mutex);
  own.seed = seed;
  std::fill(own.draws.begin(), own.draws.end(), 0);
}

}  // namespace nyala
