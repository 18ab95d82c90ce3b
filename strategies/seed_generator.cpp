#include <nyala/strategies/seed_generator.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

using namespace nyala::detail;

namespace {

int64_t checked(std::optional<int64_t> seed) {
  if (!seed) return static_cast<int64_t>(next_unseeded_key() & 0x7FFFFFFF);
  if (*seed < 0)
    throw InvalidArgumentError("SeedGenerator: expected a seed >= 0, received " + std::to_string(*seed));
  return *seed;
}

}  // namespace

SeedGenerator::SeedGenerator(std::optional<int64_t> seed)
    : state_(Tensor::from(std::vector<int64_t>{checked(seed), 0}),
             {.trainable = false, .name = "seed_generator_state"}) {}

Tensor SeedGenerator::next() const {
  const Tensor seed = state_.value().clone();
  state_.assign(ops::add(seed, Tensor::from(std::vector<int64_t>{0, 1}, Shape{2}, seed.device())));
  return seed;
}

uint64_t SeedGenerator::next_key() const {
  const std::vector<int64_t> seed = next().to_vector<int64_t>();
  return mix_key(static_cast<uint64_t>(seed[0]), static_cast<uint64_t>(seed[1]));
}

}  // namespace nyala
