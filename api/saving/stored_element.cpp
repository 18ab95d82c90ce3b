#include <nyala/api/saving/stored_element.h>

#include <cstdint>
#include <cstring>
#include <map>

namespace nyala {

namespace {

template <class From, class To>
void widen(std::span<const std::byte> bytes, const Tensor& out) {
  auto* to = static_cast<To*>(out.raw());
  for (size_t i = 0; i * sizeof(From) < bytes.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(value);
  }
}

}  // namespace

const StoredElement* find_stored_element(std::string_view code) {
  static const std::map<std::string_view, StoredElement> elements = {
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

Tensor copy_elements(const StoredElement& element, std::span<const std::byte> bytes, const Shape& shape) {
  const Tensor out = Tensor::empty(shape, element.dtype, Device(DeviceKind::cpu, 0));
  if (element.widen)
    element.widen(bytes, out);
  else if (!bytes.empty())
    std::memcpy(out.raw(), bytes.data(), bytes.size());
  return out;
}

}  // namespace nyala
