#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

/// Keras' None for a whole number that layers of categories may look for.
inline constexpr int64_t kNoToken = std::numeric_limits<int64_t>::min();

struct HashingConfig {
  int64_t num_bins = 0;
  int64_t mask_value = kNoToken;    // falls into bin 0, where nothing else does
  std::vector<int64_t> salt = {};   // two numbers, or one for both: SipHash under that key
  std::string output_mode = "int";  // or "one_hot", "multi_hot", "count"
  bool sparse = false;              // true is not supported
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};  // int64, or float32 where numbers are encoded

  void fields(FieldVisitor& v);
};

/// A bin for each whole number, the same on every machine: FarmHash's fingerprint of its decimal text modulo
/// num_bins, or SipHash's with a `salt`. Floats lose their fraction. As whole numbers, or encoded as by
/// CategoryEncoding.
class Hashing : public Layer {
 public:
  using Config = HashingConfig;
  /// Throws InvalidArgumentError unless num_bins is above 0 and the other options are such as above.
  explicit Hashing(const Config& config);
  template <size_t N>
  explicit Hashing(const NoSuchField (&)[N]) = delete;
  template <int = 0>
  explicit Hashing(int64_t num_bins, Config config = {}) : Hashing((config.num_bins = num_bins, config)) {}
};

}  // namespace nyala
