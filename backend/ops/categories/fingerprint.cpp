#include <nyala/backend/ops/categories/fingerprint.h>

#include <bit>
#include <cstring>
#include <utility>

namespace nyala::ops::detail {

namespace {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;

/// Little-endian words; all that Nyala runs on is.
template <class Word>
uint64_t word_at(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}
uint64_t word64(const char* bytes) { return word_at<uint64_t>(bytes); }
uint64_t word32(const char* bytes) { return word_at<uint32_t>(bytes); }

uint64_t shift_mix(uint64_t value) { return value ^ (value >> 47); }

uint64_t mixed(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = shift_mix((u ^ v) * factor);
  return shift_mix((v ^ a) * factor) * factor;
}

uint64_t hash_up_to_16(const char* s, uint64_t length) {
  const uint64_t factor = k2 + length * 2;
  if (length >= 8) {
    const uint64_t a = word64(s) + k2, b = word64(s + length - 8);
    const uint64_t c = std::rotr(b, 37) * factor + a, d = (std::rotr(a, 25) + b) * factor;
    return mixed(c, d, factor);
  }
  if (length >= 4) return mixed(length + (word32(s) << 3), word32(s + length - 4), factor);
  if (length == 0) return k2;
  const auto byte = [&](uint64_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(s[i])); };
  const uint32_t y = byte(0) + (byte(length >> 1) << 8);
  const uint32_t z = static_cast<uint32_t>(length) + (byte(length - 1) << 2);
  return shift_mix(y * k2 ^ z * k0) * k2;
}

uint64_t hash_17_to_32(const char* s, uint64_t length) {
  const uint64_t factor = k2 + length * 2;
  const uint64_t a = word64(s) * k1, b = word64(s + 8);
  const uint64_t c = word64(s + length - 8) * factor, d = word64(s + length - 16) * k2;
  return mixed(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, factor);
}

uint64_t hash_33_to_64(const char* s, uint64_t length) {
  const uint64_t factor = k2 + length * 2;
  const uint64_t a = word64(s) * k2, b = word64(s + 8);
  const uint64_t c = word64(s + length - 8) * factor, d = word64(s + length - 16) * k2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = mixed(y, a + std::rotr(b + k2, 18) + c, factor);
  const uint64_t e = word64(s + 16) * factor, f = word64(s + 24);
  const uint64_t g = (y + word64(s + length - 32)) * factor, h = (z + word64(s + length - 24)) * factor;
  return mixed(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, factor);
}

/// The state of a hash of more than 64 bytes.
class LongHash {
 public:
  explicit LongHash(const char* s) : x_(kSeed * k2 + word64(s)) {}

  /// Takes 64 bytes in.
  void add(const char* s, uint64_t factor, uint64_t weight) {
    x_ = std::rotr(x_ + y_ + v_.first + word64(s + 8), 37) * factor;
    y_ = std::rotr(y_ + v_.second + word64(s + 48), 42) * factor;
    x_ ^= w_.second * weight;
    y_ += v_.first * weight + word64(s + 40);
    z_ = std::rotr(z_ + w_.first, 33) * factor;
    v_ = weak_hash(s, v_.second * factor, x_ + w_.first);
    w_ = weak_hash(s + 32, z_ + w_.second, y_ + word64(s + 16));
    std::swap(z_, x_);
  }
  /// The last 64 bytes, of which `rest` + 1 were not taken in before.
  uint64_t finished(const char* last, uint64_t rest) {
    const uint64_t factor = k1 + ((z_ & 0xff) << 1);
    w_.first += rest;
    v_.first += w_.first;
    w_.first += v_.first;
    add(last, factor, 9);
    return mixed(mixed(v_.first, w_.first, factor) + shift_mix(y_) * k0 + z_,
                 mixed(v_.second, w_.second, factor) + x_, factor);
  }

 private:
  static constexpr uint64_t kSeed = 81;
  using Pair = std::pair<uint64_t, uint64_t>;

  static Pair weak_hash(const char* s, uint64_t a, uint64_t b) {
    const uint64_t last = word64(s + 24);
    a += word64(s);
    b = std::rotr(b + a + last, 21);
    const uint64_t before = a;
    a += word64(s + 8) + word64(s + 16);
    return {a + last, b + std::rotr(a, 44) + before};
  }

  uint64_t x_;
  uint64_t y_ = kSeed * k1 + 113;
  uint64_t z_ = shift_mix(y_ * k2 + 113) * k2;
  Pair v_{0, 0}, w_{0, 0};
};

/// The four words of SipHash.
struct SipState {
  uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void add(uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

}  // namespace

uint64_t fingerprint64(std::string_view bytes) {
  const uint64_t length = bytes.size();
  const char* s = bytes.data();
  if (length <= 16) return hash_up_to_16(s, length);
  if (length <= 32) return hash_17_to_32(s, length);
  if (length <= 64) return hash_33_to_64(s, length);
  LongHash hash(s);
  const uint64_t rest = (length - 1) & 63;
  for (const char* const end = s + (length - 1) / 64 * 64; s != end; s += 64) hash.add(s, k1, 1);
  return hash.finished(s + rest - 63, rest);
}

uint64_t keyed_fingerprint64(const std::array<uint64_t, 2>& key, std::string_view bytes) {
  SipState state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                 key[1] ^ 0x7465646279746573};
  const size_t whole = bytes.size() / 8 * 8;
  for (size_t i = 0; i < whole; i += 8) state.add(word64(bytes.data() + i));
  uint64_t last = uint64_t{bytes.size()} << 56;
  if (whole < bytes.size()) std::memcpy(&last, bytes.data() + whole, bytes.size() - whole);
  state.add(last);
  state.v2 ^= 0xff;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint64_t joined_fingerprint64(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  uint64_t result = first ^ kFactor;
  result ^= shift_mix(second * kFactor) * kFactor;
  result *= kFactor;
  result = shift_mix(result) * kFactor;
  return shift_mix(result);
}

}  // namespace nyala::ops::detail
