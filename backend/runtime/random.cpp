// Philox4x32-10 (Salmon et al. 2011) is ten rounds of two multiplications on a counter: no state, any element
// by itself, and it passes the tests of TestU01. Keys are mixed by SplitMix64's finaliser (Steele, Lea and
// Flood 2014), names byte by byte. A number below a bound throws the few draws away that would favour small
// results, so it has no bias; normals are Box-Muller, cut ones drawn again.
#include <nyala/backend/runtime/random.h>

#include <atomic>
#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/seeded_key.h>
#include <nyala/backend/runtime/system_random.h>

namespace nyala {

using namespace nyala::detail;

std::array<uint32_t, 4> detail::philox(const std::array<uint32_t, 4>& counter, uint64_t key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kMultiplier0 * c0, p1 = kMultiplier1 * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {c0, c1, c2, c3};
}

uint64_t detail::mix_key(uint64_t key, uint64_t value) {
  uint64_t z = key + 0x9E3779B97F4A7C15u * (value + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t detail::mix_key(uint64_t key, std::string_view name) {
  for (const char c : name) key = mix_key(key, static_cast<unsigned char>(c));
  return mix_key(key, name.size());
}

uint32_t DrawStream::next() {
  if (used_ == 4) {
    words_ = philox({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32), 0, 0}, key_);
    ++block_;
    used_ = 0;
  }
  return words_[static_cast<size_t>(used_++)];
}

double DrawStream::uniform() {
  const uint32_t high = next();
  return uniform_double(high, next());
}

double DrawStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double DrawStream::truncated_normal() {
  for (;;) {
    const double draw = normal();
    if (std::abs(draw) <= 2.0) return draw;
  }
}

uint64_t DrawStream::below(uint64_t bound) {
  const uint64_t rejected = (0 - bound) % bound;  // draws below this would favour small results
  for (;;) {
    const uint64_t high = next();
    const uint64_t draw = high << 32 | next();
    if (draw >= rejected) return draw % bound;
  }
}

namespace {

struct SeedState {
  Mutex mutex{Mutex::AtFork::is_waited};
  uint64_t seed = 0;
  bool is_set = false;     // else it is drawn when it is asked for
  bool is_chosen = false;  // by set_random_seed()
  uint64_t unseeded = 0;
  std::vector<uint64_t> drawn;  // per stream of the global generator
};

SeedState& seed_state() {
  static SeedState& state = *new SeedState;
  return state;
}

uint64_t seed_locked(SeedState& state) {
  if (!state.is_set) {
    state.seed = system_random();
    state.is_set = true;
  }
  return state.seed;
}

}  // namespace

void set_random_seed(uint64_t seed) {
  SeedState& state = seed_state();
  std::lock_guard lock(state.mutex);
  state.seed = seed;
  state.is_set = state.is_chosen = true;
  state.unseeded = 0;
  state.drawn.clear();
}

uint64_t detail::global_seed() {
  SeedState& state = seed_state();
  std::lock_guard lock(state.mutex);
  return seed_locked(state);
}

uint64_t detail::next_unseeded_key() {
  SeedState& state = seed_state();
  std::lock_guard lock(state.mutex);
  return mix_key(seed_locked(state), state.unseeded++);
}

detail::SeededKey::SeededKey(std::optional<uint64_t> seed) : key_(seed) {
  if (seed) return;
  SeedState& state = seed_state();
  std::lock_guard lock(state.mutex);
  number_ = state.unseeded++;
  if (state.is_chosen) key_ = mix_key(state.seed, number_);
}

uint64_t detail::SeededKey::value() const { return key_ ? *key_ : mix_key(global_seed(), number_); }

uint64_t detail::next_global_key(size_t stream) {
  SeedState& state = seed_state();
  std::lock_guard lock(state.mutex);
  if (stream >= state.drawn.size()) state.drawn.resize(stream + 1);
  const uint64_t own = mix_key(mix_key(seed_locked(state), "global generator"), uint64_t{stream});
  return mix_key(own, state.drawn[stream]++);
}

}  // namespace nyala
