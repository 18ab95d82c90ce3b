#pragma once

#include <cstdint>
#include <random>

namespace nyala::detail {

/// By which processes and their lives are told apart: no two draw the same.
inline uint64_t drawn_number() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

}  // namespace nyala::detail
