// The three ways to keep a group's links (HDF5 File Format Specification 3.0): a symbol table (III.B), link
// messages (IV.A.2.g), or those messages in a fractal heap, found by a B-tree of names (III.G, III.A.2).
#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/metadata/btree_v2.h>
#include <nyala/files/hdf5/metadata/fractal_heap.h>
#include <nyala/files/hdf5/metadata/links.h>
#include <nyala/files/hdf5/metadata/symbol_table.h>

namespace nyala::hdf5 {
namespace {

void read_link_message(Cursor body, Links& links) {
  body.expect_version(1);
  const uint8_t flags = body.u8();
  constexpr uint8_t kHasType = 8, kHasOrder = 4, kHasCharset = 16;
  const uint8_t type = (flags & kHasType) != 0 ? body.u8() : 0;
  if ((flags & kHasOrder) != 0) body.skip(8);
  if ((flags & kHasCharset) != 0) body.skip(1);
  const uint64_t length = body.uint(1 << (flags & 3));
  const uint64_t at = body.position();
  std::string name(body.text(length));
  Link link;
  constexpr uint8_t kHard = 0, kSoft = 1, kExternal = 64;
  switch (type) {
    case kHard:
      link.address = body.address();
      break;
    case kSoft:
      link.kind = Link::Kind::soft;
      break;
    case kExternal:
      link.kind = Link::Kind::external;
      break;
    default:
      link.kind = Link::Kind::user_defined;
      break;
  }
  add_link(links, std::move(name), link, at);
}

void read_dense(const Image& image, uint64_t heap_address, uint64_t tree_address, Links& links) {
  FractalHeap heap(image, heap_address);
  walk_btree_v2(image, tree_address, BTreeV2Type::link_names, [&](Cursor record) {
    record.skip(4);  // hash of the name
    read_link_message(heap.object(record.take(heap.id_size(), "heap ID")), links);
  });
}

}  // namespace

void add_link(Links& links, std::string name, const Link& link, uint64_t offset) {
  if (name.empty() || name == "." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Fault{offset, "a link with the impossible name " + detail::in_quotes(name)};
  const auto [place, is_new] = links.emplace(std::move(name), link);
  if (!is_new)
    throw Fault{offset, "the link " + detail::in_quotes(place->first) + " stands twice in its group"};
}

Links read_links(const Image& image, const ObjectHeader& header) {
  Links links;
  if (header.has(MessageType::symbol_table)) {
    Cursor body = header.body(MessageType::symbol_table, "symbol table");
    const uint64_t tree = body.address();
    read_symbol_table(image, tree, body.address(), links);
    return links;
  }
  if (header.has(MessageType::link_info)) {
    Cursor body = header.body(MessageType::link_info, "link info");
    body.expect_version(0);
    if ((body.u8() & 1) != 0) body.skip(8);  // creation order
    const uint64_t heap = body.address();
    if (heap != kUndefined) read_dense(image, heap, body.address(), links);
  }
  for (const Message& message : header.messages()) {
    if (message.type != MessageType::link) continue;
    if (message.is_shared()) message.body.fail("a shared link message");
    read_link_message(message.body, links);
  }
  return links;
}

}  // namespace nyala::hdf5
