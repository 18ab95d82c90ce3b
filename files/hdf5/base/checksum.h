#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nyala::hdf5 {

/// Bob Jenkins' lookup3 hash (hashlittle with initial value 0), the checksum of version 2 metadata.
uint32_t lookup3(std::span<const std::byte> data);

/// The Fletcher checksum of the fletcher32 filter: sums of big-endian 16-bit words modulo 65535, an odd last
/// byte counts as the upper half of a word.
uint32_t fletcher32(std::span<const std::byte> data);

}  // namespace nyala::hdf5
