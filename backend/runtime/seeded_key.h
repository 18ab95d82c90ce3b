#pragma once

#include <cstdint>
#include <optional>

namespace nyala::detail {

/// The key of something that may be given a seed of its own. Without one it is as next_unseeded_key() when it
/// is made; but where the program has set no seed by then it follows the one that is set later: processes
/// that agree on a seed agree on what they made before, too.
class SeededKey {
 public:
  explicit SeededKey(std::optional<uint64_t> seed);
  uint64_t value() const;

 private:
  std::optional<uint64_t> key_;
  uint64_t number_ = 0;  // without a key: how many were taken before
};

}  // namespace nyala::detail
