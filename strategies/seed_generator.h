#pragma once

#include <cstdint>
#include <optional>

#include <nyala/backend/parameters/variable.h>

namespace nyala {

/// Keras' SeedGenerator: seeds for random functions, one after the other. Its state is a variable (seed,
/// counter) of the strategy in whose scope it is made: all replicas have the same one, so they draw the same
/// seeds as long as all ask alike. A handle; copies share the state. One thread (in run: one per replica) at
/// a time.
class SeedGenerator {
 public:
  /// Without a seed: one from set_random_seed. Throws InvalidArgumentError for a negative seed.
  explicit SeedGenerator(std::optional<int64_t> seed = {});

  /// (seed, counter) as int64, and counts on.
  Tensor next() const;
  /// The same mixed into one key for ops::random_* and the like. Waits for the device.
  uint64_t next_key() const;
  /// int64 of shape (2,): what checkpoints keep.
  const Variable& state() const { return state_; }

 private:
  Variable state_;
};

}  // namespace nyala
