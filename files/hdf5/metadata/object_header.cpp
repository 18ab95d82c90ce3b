// HDF5 File Format Specification 3.0, section IV.A.1: messages in a first block and in blocks that
// continuation messages name, read in that order by a loop, not by recursion. Version 2 has checksums. A
// message of a kind that is not known is passed over unless its flags forbid that.
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/object_header.h>

namespace nyala::hdf5 {
namespace {

constexpr uint16_t kLastKnownType = 0x17;
constexpr uint8_t kFailIfUnknown = 0x80;

Cursor continuation_block(const Image& image, Cursor message) {
  const uint64_t address = message.address();
  return Cursor(image, address, message.length(), "continuation of an object header");
}

}  // namespace

ObjectHeader::ObjectHeader(const Image& image, uint64_t address) : image_(&image), address_(address) {
  Cursor prefix = Cursor::to_end(image, address, "object header");
  if (prefix.remaining() >= 4 && Cursor(prefix).text(4) == "OHDR") {
    read_version_2(prefix);
  } else {
    read_version_1(prefix);
  }
}

void ObjectHeader::add(uint16_t type, uint8_t flags, Cursor body) {
  if (type > kLastKnownType && (flags & kFailIfUnknown) != 0)
    body.fail("a message of the unknown kind " + std::to_string(type) + " that readers must understand");
  auto& list = type == static_cast<uint16_t>(MessageType::continuation) ? continuations_ : messages_;
  if (type != 0) list.push_back({static_cast<MessageType>(type), flags, body});
}

void ObjectHeader::read_version_1(Cursor prefix) {
  prefix.expect_version(1);
  prefix.skip(1);
  const size_t declared = prefix.u16();
  prefix.skip(4);  // reference count
  const uint64_t size = prefix.u32();
  prefix.skip(4);
  read_blocks_1(prefix.take(size, "object header"), declared);
}

void ObjectHeader::read_blocks_1(Cursor block, size_t declared) {
  constexpr uint64_t kPrefix = 8;
  WalkBudget budget(*image_);
  size_t found = 0;
  for (size_t next = 0;; ++next) {
    budget.spend(block.remaining() + 1, block.begin());
    while (block.remaining() >= kPrefix) {
      const uint16_t type = block.u16();
      const uint64_t size = block.u16();
      const uint8_t flags = block.u8();
      block.skip(3);
      add(type, flags, block.take(size, "header message"));
      ++found;
    }
    if (next == continuations_.size()) break;
    block = continuation_block(*image_, continuations_[next].body);
  }
  if (found < declared)
    throw Fault{address_, "the object header declares " + std::to_string(declared) + " messages but holds " +
                              std::to_string(found)};
}

void ObjectHeader::read_version_2(Cursor prefix) {
  prefix.expect_signature("OHDR");
  prefix.expect_version(2);
  const uint8_t flags = prefix.u8();
  tracks_order_ = (flags & 0x04) != 0;
  if ((flags & 0x20) != 0) prefix.skip(4 * 4);  // times
  if ((flags & 0x10) != 0) prefix.skip(2 * 2);  // where attributes become dense
  const uint64_t size = prefix.uint(1 << (flags & 3));
  Cursor messages = prefix.take(size, "object header");
  prefix.expect_checksum();
  read_block_2(messages);

  WalkBudget budget(*image_);
  for (size_t next = 0; next < continuations_.size(); ++next) {
    Cursor block = continuation_block(*image_, continuations_[next].body);
    budget.spend(block.remaining() + 1, block.begin());
    block.expect_signature("OCHK");
    constexpr uint64_t kChecksum = 4;
    if (block.remaining() < kChecksum) block.fail("a continuation block too short for its checksum");
    Cursor inside = block.take(block.remaining() - kChecksum, "continuation of an object header");
    block.expect_checksum();
    read_block_2(inside);
  }
}

void ObjectHeader::read_block_2(Cursor& block) {
  const uint64_t prefix = tracks_order_ ? 6 : 4;
  // Fewer bytes than a message's prefix are a gap.
  while (block.remaining() >= prefix) {
    const uint8_t type = block.u8();
    const uint64_t size = block.u16();
    const uint8_t flags = block.u8();
    if (tracks_order_) block.skip(2);
    add(type, flags, block.take(size, "header message"));
  }
}

ObjectKind ObjectHeader::kind() const {
  if (has(MessageType::layout)) return ObjectKind::dataset;
  const bool is_group =
      has(MessageType::symbol_table) || has(MessageType::link_info) || has(MessageType::link);
  return is_group ? ObjectKind::group : ObjectKind::other;
}

const Message* ObjectHeader::find(MessageType type) const {
  for (const Message& message : messages_)
    if (message.type == type) return &message;
  return nullptr;
}

Cursor ObjectHeader::body(MessageType type, const char* what) const {
  const Message* message = find(type);
  if (message == nullptr) throw Fault{address_, std::string("the object has no ") + what};
  return message->is_shared() ? shared_body(message->body, type) : message->body;
}

Cursor shared_body(Cursor reference, MessageType type) {
  constexpr uint8_t kInHeap = 1, kInObject = 2;
  const uint8_t version = reference.u8();
  if (version < 1 || version > 3)
    reference.fail("a shared message of unknown version " + std::to_string(version));
  const uint8_t kind = reference.u8();
  if (version == 3 && kind == kInHeap) reference.fail("messages shared through a heap are not supported");
  if (version == 3 && kind != kInObject) reference.fail("a shared message of unknown kind");
  if (version == 1) reference.skip(6);
  const ObjectHeader target(reference.image(), reference.address());
  const Message* message = target.find(type);
  if (message == nullptr || message->is_shared())
    reference.fail("a shared message whose target does not hold it");
  return message->body;
}

}  // namespace nyala::hdf5
