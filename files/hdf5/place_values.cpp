// libhdf5 writes the head of a file without the values, which so are never copied into memory of its own.
// Then the layout message of each contiguous dataset (HDF5 File Format Specification 3.0, IV.A.2.i) gets the
// address that its values will have behind the head, and the superblock the file's new end.
#include <optional>
#include <string_view>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/dataset.h>
#include <nyala/files/hdf5/metadata/link_cache.h>
#include <nyala/files/hdf5/metadata/superblock.h>
#include <nyala/files/hdf5/place_values.h>

namespace nyala::hdf5 {
namespace {

constexpr uint64_t kEndOfFileField = 40;  // in superblock 0 with addresses of 8 bytes
constexpr uint8_t kLayoutVersion = 3, kContiguous = 1;

void put_u64(std::span<std::byte> bytes, uint64_t at, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

uint64_t address_of(const Image& image, std::string_view path) {
  uint64_t address = image.root_address;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    address = image.links->links_of(image, ObjectHeader(image, address))->find(name)->second.address;
  }
  return address;
}

/// Where the address of a dataset's values stands.
uint64_t address_field_of(const ObjectHeader& header) {
  Cursor layout = header.body(MessageType::layout, "layout");
  if (layout.u8() != kLayoutVersion || layout.u8() != kContiguous)
    layout.fail("libhdf5 made something else than a contiguous dataset");
  const uint64_t field = layout.position();
  if (layout.address() != kUndefined) layout.fail("libhdf5 reserved space for values already");
  return field;
}

/// Where the checksum of a dataset's values stands; nothing where it has none.
std::optional<uint64_t> checksum_field_of(const ObjectHeader& header) {
  for (const Message& message : header.messages()) {
    if (message.type != MessageType::attribute) continue;
    if (const AttributeParts parts = read_attribute_message(message.body); parts.name == Dataset::kChecksum)
      return parts.data.begin();
  }
  return std::nullopt;
}

}  // namespace

FileParts place_values(std::span<std::byte> head, std::shared_ptr<const void> owner,
                       const NamedValues& values) {
  Image image;
  image.bytes = StoredBytes(head);
  image.name = "HDF5 writer";
  image.links = std::make_shared<LinkCache>();
  FileParts parts(head, std::move(owner));
  at_object(image, "/", [&] { read_superblock(image); });
  for (const auto& value : values)
    at_object(image, value.first, [&] {
      const ObjectHeader header(image, address_of(image, value.first));
      put_u64(head, address_field_of(header), parts.append(value.second));
      if (const auto field = checksum_field_of(header)) parts.add_checksum(*field);
    });
  put_u64(head, kEndOfFileField, parts.size());
  return parts;
}

}  // namespace nyala::hdf5
