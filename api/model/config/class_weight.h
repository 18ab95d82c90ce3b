#pragma once

#include <concepts>
#include <cstdint>
#include <map>

namespace nyala {

/// Class to weight, others 1: `{{0, 1.0}, {1, 5.0}}`, or a map whose keys are whole numbers.
class ClassWeight : public std::map<int64_t, double> {
 public:
  using map::map;
  template <class Map>
  requires(std::integral<typename Map::key_type>&& std::convertible_to<typename Map::mapped_type, double>)
      ClassWeight(const Map& weights)
      : map(weights.begin(), weights.end()) {}
};

}  // namespace nyala
