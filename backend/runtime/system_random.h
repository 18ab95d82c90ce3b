#pragma once

#include <cstdint>

namespace nyala::detail {

/// A number from the system's own source of chance, for seeds and for names that nobody else has; no seed has
/// a say in it.
uint64_t system_random();

}  // namespace nyala::detail
