#include <nyala/files/hdf5/metadata/fill_value.h>

namespace nyala::hdf5 {
namespace {

/// Moves `body` to the size field of a fill value message; false where none follows.
bool skip_to_size(Cursor& body) {
  const uint8_t version = body.u8();
  if (version < 1 || version > 3) body.fail("a fill value of unknown version " + std::to_string(version));
  if (version == 3) return (body.u8() & 0x20) != 0;
  body.skip(2);  // when space and values are written
  const bool is_defined = body.u8() != 0;
  return version == 1 || is_defined;
}

}  // namespace

std::vector<std::byte> read_fill_value(const ObjectHeader& header, uint64_t element_size) {
  std::vector<std::byte> zeros(element_size);
  const bool is_new = header.has(MessageType::fill_value);
  if (!is_new && !header.has(MessageType::old_fill_value)) return zeros;
  Cursor body = header.body(is_new ? MessageType::fill_value : MessageType::old_fill_value, "fill value");
  if (is_new && !skip_to_size(body)) return zeros;
  const uint64_t size = body.u32();
  if (size == 0 || size == UINT32_MAX) return zeros;
  if (size != element_size)
    body.fail("a fill value of " + std::to_string(size) + " bytes for elements of " +
              std::to_string(element_size));
  const auto value = body.bytes(size);
  return {value.begin(), value.end()};
}

}  // namespace nyala::hdf5
