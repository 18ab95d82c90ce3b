#include <nyala/files/json/ordered_object.h>

#include <nyala/backend/runtime/system_random.h>

namespace nyala {

// The polynomial of the key's bytes at a point that nobody knows: two keys of length l have the same number
// at no more than l of 2^31 points.
uint32_t hash_of_key(std::string_view key) {
  constexpr uint64_t kPrime = (uint64_t{1} << 31) - 1;
  static const uint64_t point = 256 + detail::system_random() % (kPrime - 256);
  uint64_t hash = 0;
  for (const char c : key) hash = (hash * point + static_cast<unsigned char>(c) + 1) % kPrime;
  return static_cast<uint32_t>(hash);
}

}  // namespace nyala
