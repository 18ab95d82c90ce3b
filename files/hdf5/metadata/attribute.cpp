#include <cstring>
#include <type_traits>

#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/attribute.h>
#include <nyala/files/hdf5/metadata/dataspace.h>
#include <nyala/files/hdf5/metadata/elements.h>
#include <nyala/files/hdf5/metadata/object_header.h>

namespace nyala::hdf5 {

using namespace nyala::detail;
namespace {

uint64_t padded(uint64_t size) { return (size + 7) / 8 * 8; }

/// Converts to the memory dtype, then each element to T.
template <class T>
std::vector<T> read_numbers(const Datatype& type, Cursor data, uint64_t count) {
  const DType dtype = memory_dtype(type);
  const auto stored = data.bytes(checked_multiply(count, type.size, "size of an attribute"));
  std::vector<std::byte> buffer(count * size_of(dtype));
  convert_elements(type, stored, buffer);
  std::vector<T> values(count);
  dispatch_any(dtype, [&](auto element) {
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&element, buffer.data() + i * sizeof(element), sizeof(element));
      if constexpr (std::is_arithmetic_v<decltype(element)>) {
        values[i] = static_cast<T>(element);
      } else {
        values[i] = static_cast<T>(static_cast<float>(element));
      }
    }
  });
  return values;
}

}  // namespace

AttributeParts read_attribute_message(Cursor body) {
  const uint8_t version = body.u8();
  if (version < 1 || version > 3) body.fail("an attribute of unknown version " + std::to_string(version));
  const uint8_t flags = version == 1 ? (body.skip(1), uint8_t{0}) : body.u8();
  uint64_t name_size = body.u16();
  uint64_t type_size = body.u16();
  uint64_t space_size = body.u16();
  if (version == 3) body.skip(1);  // character set of the name
  const auto field = [version](uint64_t size) { return version == 1 ? padded(size) : size; };
  const std::string_view padded_name = body.text(field(name_size));
  Cursor type = body.take(field(type_size), "datatype of an attribute");
  Cursor space = body.take(field(space_size), "dataspace of an attribute");
  constexpr uint8_t kSharedType = 1, kSharedSpace = 2;
  if ((flags & kSharedType) != 0) type = shared_body(type, MessageType::datatype);
  if ((flags & kSharedSpace) != 0) space = shared_body(space, MessageType::dataspace);
  std::string name(padded_name.substr(0, padded_name.find('\0')));
  return {std::move(name), type, space, body.take(body.remaining(), "data of an attribute")};
}

Attribute::Attribute(ImagePtr image, std::string object_path, AttributeParts parts)
    : image_(std::move(image)), place_(std::move(object_path) + "@" + parts.name), parts_(std::move(parts)) {}

template <class F>
auto Attribute::guarded(F&& read) const {
  return at_object(*image_, place_,
                   [&] { return read(read_datatype(parts_.datatype), read_dataspace(parts_.dataspace)); });
}

Shape Attribute::shape() const {
  return at_object(*image_, place_, [&] {
    const Dataspace space = read_dataspace(parts_.dataspace);
    return Shape(std::vector<int64_t>(space.sizes.begin(), space.sizes.end()));
  });
}

bool Attribute::is_string() const {
  return guarded([](const Datatype& type, const Dataspace&) { return type.is_string(); });
}

std::string Attribute::string() const {
  std::vector<std::string> all = strings();
  return at_object(*image_, place_, [&] {
    if (all.size() != 1)
      throw Fault{parts_.data.begin(), "expected one string, found " + std::to_string(all.size())};
    return std::move(all.front());
  });
}

std::vector<std::string> Attribute::strings() const {
  return guarded([&](const Datatype& type, const Dataspace& space) {
    if (space.count == 0) return std::vector<std::string>{};
    return read_strings(*image_, type, parts_.data, space.count);
  });
}

std::vector<double> Attribute::numbers() const {
  return guarded([&](const Datatype& type, const Dataspace& space) {
    return read_numbers<double>(type, parts_.data, space.count);
  });
}

std::vector<int64_t> Attribute::integers() const {
  return guarded([&](const Datatype& type, const Dataspace& space) {
    if (is_floating(memory_dtype(type)))
      throw Fault{parts_.data.begin(), "expected integers, found " + type.to_string()};
    return read_numbers<int64_t>(type, parts_.data, space.count);
  });
}

}  // namespace nyala::hdf5
