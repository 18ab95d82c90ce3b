#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <nyala/backend/core/held.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

struct GeneratorState;

/// A source of random tensors with a state, as tf.random.Generator. Made in the scope of a strategy every
/// replica has a stream of its own inside run(): the streams differ, and that of a replica does not depend on
/// how many replicas there are. Outside of run() the draws are those of replica 0, and all streams go on.
/// Made outside of every scope there is one stream for all: replicas of one run() draw from it in the order
/// in which they happen to come. This is the one thing whose numbers depend on the strategy.
/// A handle; copies share the streams. Draw `i` of a stream is the same in every run of the program and on
/// every device.
class Generator {
 public:
  /// Seeded from set_random_seed.
  Generator();
  static Generator from_seed(uint64_t seed);
  /// From what state() gave.
  static Generator from_state(const Tensor& state);

  Tensor uniform(const Shape& shape, double low = 0.0, double high = 1.0, DType dtype = DType::float32) const;
  Tensor normal(const Shape& shape, double mean = 0.0, double stddev = 1.0,
                DType dtype = DType::float32) const;
  Tensor truncated_normal(const Shape& shape, double mean = 0.0, double stddev = 1.0,
                          DType dtype = DType::float32) const;

  /// Passes over `draws` draws of this stream (outside of run(): of all). Throws InvalidArgumentError for a
  /// negative number.
  void skip(int64_t draws) const;
  /// `count` generators whose numbers have nothing to do with each other's and this one's. One draw.
  std::vector<Generator> split(int count) const;

  /// int64 of shape (streams, 2): the seed and how many draws were made of each stream.
  Tensor state() const;
  /// Puts a state back, also that of a generator with another number of streams: those that both have go on
  /// where they were, further ones begin. Throws InvalidArgumentError for a tensor of another kind.
  void reset(const Tensor& state) const;
  void reset_from_seed(uint64_t seed) const;

 private:
  explicit Generator(std::shared_ptr<GeneratorState> state) : state_(std::move(state)) {}
  uint64_t next_key() const;
  GeneratorState& held_state() const {
    return detail::held(state_, "Generator", "it was moved from; Generator() makes one");
  }

  std::shared_ptr<GeneratorState> state_;
};

}  // namespace nyala
