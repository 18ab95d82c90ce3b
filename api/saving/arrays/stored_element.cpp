#include <nyala/api/saving/arrays/stored_element.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

namespace nyala {

namespace {

template <class From, class To>
void widen(std::span<const std::byte> bytes, void* out) {
  auto* to = static_cast<To*>(out);
  for (size_t i = 0; i * sizeof(From) < bytes.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

}  // namespace

const StoredElement* find_stored_element(std::string_view code) {
  static const std::map<std::string_view, StoredElement>& elements =
      *new std::map<std::string_view, StoredElement>{
          {"f4", {4, DType::float32, nullptr}},
          {"f8", {8, DType::float64, nullptr}},
          {"f2", {2, DType::float16, nullptr}},
          {"bf2", {2, DType::bfloat16, nullptr}},
          {"i4", {4, DType::int32, nullptr}},
          {"i8", {8, DType::int64, nullptr}},
          {"u1", {1, DType::uint8, nullptr}},
          {"b1", {1, DType::bool_, widen<uint8_t, bool>}},
          {"i1", {1, DType::int32, widen<int8_t, int32_t>}},
          {"i2", {2, DType::int32, widen<int16_t, int32_t>}},
          {"u2", {2, DType::int32, widen<uint16_t, int32_t>}},
          {"u4", {4, DType::int64, widen<uint32_t, int64_t>}},
          {"u8", {8, DType::int64, widen<uint64_t, int64_t>}},
      };
  const auto found = elements.find(code);
  return found == elements.end() ? nullptr : &found->second;
}

namespace {

void swap_bytes(std::span<std::byte> elements, size_t size) {
  for (size_t at = 0; at + size <= elements.size(); at += size)
    std::reverse(elements.begin() + static_cast<std::ptrdiff_t>(at),
                 elements.begin() + static_cast<std::ptrdiff_t>(at + size));
}

}  // namespace

Tensor read_elements(const StoredElement& element, const StoredBytes& bytes, const Shape& shape,
                     ByteOrder order) {
  const Tensor out = Tensor::empty(shape, element.dtype, Device(DeviceKind::cpu, 0));
  const std::span<std::byte> values(static_cast<std::byte*>(out.raw()), out.bytes());
  if (!element.widen) {
    bytes.read(0, values);
    if (order == ByteOrder::swapped) swap_bytes(values, element.bytes);
    return out;
  }
  constexpr uint64_t kElements = 65536;  // that are read at a time
  std::vector<std::byte> piece;
  const uint64_t count = bytes.size() / element.bytes;
  for (uint64_t i = 0; i < count; i += kElements) {
    piece.resize(std::min(kElements, count - i) * element.bytes);
    bytes.read(i * element.bytes, piece);
    if (order == ByteOrder::swapped) swap_bytes(piece, element.bytes);
    element.widen(piece, values.data() + i * size_of(element.dtype));
  }
  return out;
}

}  // namespace nyala
