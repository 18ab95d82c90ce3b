#pragma once

#include <cstdint>
#include <vector>

#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// The kinds of header messages that reading needs.
enum class MessageType : uint16_t {
  dataspace = 0x01,
  link_info = 0x02,
  datatype = 0x03,
  old_fill_value = 0x04,
  fill_value = 0x05,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  group_info = 0x0a,
  filters = 0x0b,
  attribute = 0x0c,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_info = 0x15,
};

enum class ObjectKind { group, dataset, other };

struct Message {
  MessageType type;
  uint8_t flags;
  Cursor body;

  bool is_shared() const { return (flags & 0x02) != 0; }
};

/// The messages of one object, header versions 1 and 2, continuation blocks included. Checksums of
/// version 2 are verified. Throws Fault.
class ObjectHeader {
 public:
  ObjectHeader(const Image& image, uint64_t address);

  ObjectKind kind() const;
  uint64_t address() const { return address_; }
  bool has(MessageType type) const { return find(type) != nullptr; }
  /// The first message of a type, or null.
  const Message* find(MessageType type) const;
  /// The body of the first message of a type, through a reference where the message is shared. Throws Fault
  /// naming `what` if there is none.
  Cursor body(MessageType type, const char* what) const;
  const std::vector<Message>& messages() const { return messages_; }

 private:
  void read_version_1(Cursor prefix);
  void read_version_2(Cursor prefix);
  void read_blocks_1(Cursor block, size_t declared);
  void read_block_2(Cursor& block);
  void add(uint16_t type, uint8_t flags, Cursor body);

  const Image* image_;
  uint64_t address_;
  bool tracks_order_ = false;
  std::vector<Message> messages_;
  std::vector<Message> continuations_;
};

/// The message of `type` that `reference`, the body of a shared message, points to: only messages in other
/// object headers (committed datatypes), not in a heap of shared messages.
Cursor shared_body(Cursor reference, MessageType type);

}  // namespace nyala::hdf5
