#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nyala/files/hdf5/metadata/datatype.h>

namespace nyala::hdf5 {

/// The dtype that values of `type` get in memory: their own where there is one, else the next larger integer
/// (int8, int16, uint16 -> int32; uint32, uint64 -> int64). Throws Fault for strings and opaque data.
DType memory_dtype(const Datatype& type);

/// True where the stored bytes are the bytes of memory_dtype, so that a copy or a view will do.
bool is_native(const Datatype& type);

/// Converts stored elements to memory_dtype. `out` holds as many elements as `stored`; neither needs
/// alignment. Throws Fault for a boolean other than 0 and 1 and for a uint64 beyond int64.
void convert_elements(const Datatype& type, std::span<const std::byte> stored, std::span<std::byte> out);

/// Reads `count` strings whose elements begin at `stored`; variable ones are looked up in `file`. Padding is
/// removed. Throws Fault; also for a type that is no string.
std::vector<std::string> read_strings(const Image& file, const Datatype& type, Cursor stored, uint64_t count);

}  // namespace nyala::hdf5
