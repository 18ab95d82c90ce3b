#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace nyala {

/// A number as C++ writes it: exact for truth values, int64 and double.
class Number {
 public:
  enum class Kind : uint8_t { truth, integer, floating };

  /// An integer above int64 is a floating number.
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Number(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      floating_ = static_cast<double>(value);
    } else if (static_cast<uint64_t>(value) > kHighest && std::is_unsigned_v<T>) {
      floating_ = static_cast<double>(value);
    } else {
      kind_ = std::is_same_v<T, bool> ? Kind::truth : Kind::integer;
      integer_ = static_cast<int64_t>(value);
    }
  }

  constexpr Kind kind() const { return kind_; }
  constexpr bool is_floating() const { return kind_ == Kind::floating; }
  /// As C++ converts it.
  template <class T>
  constexpr T as() const {
    return is_floating() ? static_cast<T>(floating_) : static_cast<T>(integer_);
  }

 private:
  static constexpr auto kHighest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

  Kind kind_ = Kind::floating;
  int64_t integer_ = 0;
  double floating_ = 0.0;
};

}  // namespace nyala
