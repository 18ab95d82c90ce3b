#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/metadata/attributes.h>
#include <nyala/files/hdf5/metadata/btree_v2.h>
#include <nyala/files/hdf5/metadata/fractal_heap.h>

namespace nyala::hdf5 {

using namespace nyala::detail;

Attributes::Attributes(ImagePtr image, std::string object_path, const ObjectHeader& header)
    : image_(std::move(image)), object_path_(std::move(object_path)) {
  for (const Message& message : header.messages()) {
    if (message.type != MessageType::attribute) continue;
    add(message.is_shared() ? shared_body(message.body, MessageType::attribute) : message.body);
  }
  if (header.has(MessageType::attribute_info))
    read_dense(header.body(MessageType::attribute_info, "attribute info"));
}

void Attributes::add(Cursor message) {
  AttributeParts parts = read_attribute_message(message);
  std::string name = parts.name;
  const auto [place, is_new] = parts_.emplace(std::move(name), std::move(parts));
  if (!is_new) message.fail("the attribute " + in_quotes(place->first) + " stands twice at its object");
}

void Attributes::read_dense(Cursor info) {
  info.expect_version(0);
  if ((info.u8() & 1) != 0) info.skip(2);  // creation order
  const uint64_t heap_address = info.address();
  if (heap_address == kUndefined) return;
  FractalHeap heap(*image_, heap_address);
  walk_btree_v2(*image_, info.address(), BTreeV2Type::attribute_names, [&](Cursor record) {
    Cursor id = record.take(heap.id_size(), "heap ID");
    constexpr uint8_t kShared = 2;
    if ((record.u8() & kShared) != 0) record.fail("attributes shared through a heap are not supported");
    add(heap.object(id));
  });
}

std::vector<std::string> Attributes::names() const {
  std::vector<std::string> all;
  for (const auto& [name, parts] : parts_) all.push_back(name);
  return all;
}

Attribute Attributes::get(std::string_view name) const {
  const auto found = parts_.find(name);
  if (found == parts_.end())
    throw NotFoundError(image_->name + ": HDF5 object " + in_quotes(object_path_) + " has no attribute " +
                        in_quotes(name) + did_you_mean(name, names()));
  return Attribute(image_, object_path_, found->second);
}

}  // namespace nyala::hdf5
