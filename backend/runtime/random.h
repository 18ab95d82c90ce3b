#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nyala {

namespace detail {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): four 32-bit random
/// words for a 128-bit counter and a 64-bit key. No state, so any element can be drawn anywhere.
std::array<uint32_t, 4> philox(const std::array<uint32_t, 4>& counter, uint64_t key);

/// A uniform float in [0, 1) from 24 bits.
inline float uniform_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
/// A uniform double in [0, 1) from 53 bits.
inline double uniform_double(uint32_t high, uint32_t low) {
  return static_cast<double>((static_cast<uint64_t>(high) << 32 | low) >> 11) * 0x1p-53;
}

/// Mixes a value into a key (the finaliser of SplitMix64).
uint64_t mix_key(uint64_t key, uint64_t value);
/// Mixes a name into a key.
uint64_t mix_key(uint64_t key, std::string_view name);

}  // namespace detail

/// A stream of draws for initializers, shuffles and the like: one key, a running counter. Not thread-safe.
class DrawStream {
 public:
  explicit DrawStream(uint64_t key) : key_(key) {}
  uint32_t next();
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Standard normal (Box-Muller).
  double normal();
  /// Standard normal cut at two standard deviations by drawing again.
  double truncated_normal();
  /// Uniform in [0, bound), without bias. `bound` > 0.
  uint64_t below(uint64_t bound);

 private:
  uint64_t key_;
  uint64_t block_ = 0;
  int used_ = 4;
  std::array<uint32_t, 4> words_{};
};

/// Sets the process-wide seed and starts the counters of unseeded draws afresh (Keras' set_random_seed).
void set_random_seed(uint64_t seed);

namespace detail {

/// The process-wide seed: set_random_seed's, else drawn once from the system.
uint64_t global_seed();

/// A fresh key for something that was given no seed of its own: depends on the global seed and on how many
/// were asked for since it was set.
uint64_t next_unseeded_key();

/// The next key of one stream of the global generator: depends on the global seed, the stream and how many
/// keys of it were taken since the seed was set. Takes nothing from next_unseeded_key().
uint64_t next_global_key(size_t stream);

}  // namespace detail

}  // namespace nyala
