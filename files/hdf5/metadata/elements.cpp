// Memory knows fewer types than a file: small integers are widened to int32 (uint8 stays), uint32 to int64,
// and a uint64 is refused where int64 does not hold it. Values of the other byte order are turned around one
// by one. Numbers that lie in the file as in memory (is_native) are copied as they are, or not at all.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include <nyala/files/hdf5/metadata/elements.h>
#include <nyala/files/hdf5/metadata/global_heap.h>

namespace nyala::hdf5 {
namespace {

using Kind = Datatype::Kind;
using Bytes = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little, "stored data are viewed as little-endian");

template <class T>
T load(const std::byte* from, bool is_big_endian) {
  std::array<std::byte, sizeof(T)> buffer;
  std::memcpy(buffer.data(), from, sizeof(T));
  if (is_big_endian) std::reverse(buffer.begin(), buffer.end());
  return std::bit_cast<T>(buffer);
}

template <class Stored, class Memory>
void convert(const Datatype& type, Bytes stored, std::span<std::byte> out) {
  const size_t count = stored.size() / sizeof(Stored);
  for (size_t i = 0; i < count; ++i) {
    const auto value = load<Stored>(stored.data() + i * sizeof(Stored), type.is_big_endian);
    if constexpr (std::is_same_v<Stored, uint64_t>) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        throw Fault{kNoOffset, "the value " + std::to_string(value) + " does not fit into int64"};
    }
    const auto converted = static_cast<Memory>(value);
    std::memcpy(out.data() + i * sizeof(Memory), &converted, sizeof(Memory));
  }
}

void convert_booleans(Bytes stored, std::span<std::byte> out) {
  for (size_t i = 0; i < stored.size(); ++i) {
    if (std::to_integer<unsigned>(stored[i]) > 1)
      throw Fault{kNoOffset, "element " + std::to_string(i) + " of a boolean array is " +
                                 std::to_string(std::to_integer<unsigned>(stored[i]))};
    out[i] = stored[i];
  }
}

void convert_signed(const Datatype& type, Bytes stored, std::span<std::byte> out) {
  switch (type.size) {
    case 1:
      return convert<int8_t, int32_t>(type, stored, out);
    case 2:
      return convert<int16_t, int32_t>(type, stored, out);
    case 4:
      return convert<int32_t, int32_t>(type, stored, out);
    default:
      return convert<int64_t, int64_t>(type, stored, out);
  }
}

void convert_unsigned(const Datatype& type, Bytes stored, std::span<std::byte> out) {
  switch (type.size) {
    case 1:
      return convert<uint8_t, uint8_t>(type, stored, out);
    case 2:
      return convert<uint16_t, int32_t>(type, stored, out);
    case 4:
      return convert<uint32_t, int64_t>(type, stored, out);
    default:
      return convert<uint64_t, int64_t>(type, stored, out);
  }
}

void swap_floats(const Datatype& type, Bytes stored, std::span<std::byte> out) {
  switch (type.size) {
    case 2:
      return convert<uint16_t, uint16_t>(type, stored, out);
    case 4:
      return convert<uint32_t, uint32_t>(type, stored, out);
    default:
      break;
  }
  for (size_t i = 0; i + 8 <= stored.size(); i += 8) std::reverse_copy(&stored[i], &stored[i] + 8, &out[i]);
}

std::string unpad(std::string_view text, Datatype::Padding padding) {
  if (padding == Datatype::Padding::null_terminated) return std::string(text.substr(0, text.find('\0')));
  const char filler = padding == Datatype::Padding::space_padded ? ' ' : '\0';
  return std::string(text.substr(0, text.find_last_not_of(filler) + 1));
}

}  // namespace

DType memory_dtype(const Datatype& type) {
  switch (type.kind) {
    case Kind::bfloat16:
      return DType::bfloat16;
    case Kind::boolean:
      return DType::bool_;
    case Kind::floating:
      return type.size == 2 ? DType::float16 : type.size == 4 ? DType::float32 : DType::float64;
    case Kind::integer:
      if (!type.is_signed && type.size == 1) return DType::uint8;
      return type.size < 4 || (type.size == 4 && type.is_signed) ? DType::int32 : DType::int64;
    default:
      break;
  }
  throw Fault{kNoOffset, "the elements are no numbers but " + type.to_string()};
}

bool is_native(const Datatype& type) {
  if (!type.is_number() || type.kind == Kind::boolean) return false;
  const bool is_checked = type.kind == Kind::integer && !type.is_signed && type.size == 8;
  const bool is_ordered = type.size == 1 || !type.is_big_endian;
  return is_ordered && !is_checked && size_of(memory_dtype(type)) == type.size;
}

void convert_elements(const Datatype& type, Bytes stored, std::span<std::byte> out) {
  if (stored.empty()) return;
  if (is_native(type)) {
    std::memcpy(out.data(), stored.data(), stored.size());
  } else if (type.kind == Kind::boolean) {
    convert_booleans(stored, out);
  } else if (type.kind == Kind::integer) {
    type.is_signed ? convert_signed(type, stored, out) : convert_unsigned(type, stored, out);
  } else {
    swap_floats(type, stored, out);
  }
}

std::vector<std::string> read_strings(const Image& file, const Datatype& type, Cursor stored,
                                      uint64_t count) {
  if (!type.is_string()) stored.fail("the elements are no strings but " + type.to_string());
  std::vector<std::string> strings;
  if (count > stored.remaining() / type.size)
    stored.fail("fewer bytes than " + std::to_string(count) + " strings need");
  strings.reserve(count);
  GlobalHeap heap(file);
  for (uint64_t i = 0; i < count; ++i) {
    if (type.kind == Kind::variable_string) {
      strings.push_back(heap.read_string(stored));
    } else {
      strings.push_back(unpad(stored.text(type.size), type.padding));
    }
  }
  return strings;
}

}  // namespace nyala::hdf5
