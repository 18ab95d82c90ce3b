// HDF5 File Format Specification 3.0, sections III.B to D: a version 1 B-tree leads to nodes of entries,
// whose names are offsets into a local heap.
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/btree_v1.h>
#include <nyala/files/hdf5/metadata/symbol_table.h>

namespace nyala::hdf5 {
namespace {

/// The data segment of a local heap.
Cursor open_local_heap(const Image& image, uint64_t address) {
  Cursor header = Cursor::to_end(image, address, "local heap");
  header.expect_signature("HEAP");
  header.expect_version(0);
  header.skip(3);
  const uint64_t size = header.length();
  header.length();  // free list
  return Cursor(image, header.address(), size, "local heap");
}

/// The text at `offset` of the heap up to its NUL. In a sound heap the names are disjoint: `budget` is its
/// size.
std::string read_name(Cursor heap, uint64_t offset, WalkBudget& budget) {
  heap.skip(offset);
  const std::string_view rest = Cursor(heap).text(heap.remaining());
  const size_t length = rest.find('\0');
  if (length == std::string_view::npos) heap.fail("a name without an end in the local heap");
  budget.spend(length + 1, heap.position());
  return std::string(rest.substr(0, length));
}

}  // namespace

void read_symbol_table(const Image& image, uint64_t tree_address, uint64_t heap_address, Links& links) {
  constexpr uint8_t kGroupNode = 0;
  const Cursor heap = open_local_heap(image, heap_address);
  WalkBudget names(image);
  WalkBudget nodes(image);
  const auto entry_size = static_cast<uint64_t>(2 * image.offset_size + 4 + 4 + 16);

  const auto read_node = [&](Cursor, uint64_t address) {
    Cursor node = Cursor::to_end(image, address, "symbol node");
    node.expect_signature("SNOD");
    node.expect_version(1);
    node.skip(1);
    const uint64_t count = node.u16();
    Cursor entries = node.take(count * entry_size, "symbol node");
    nodes.spend(node.consumed(), address);
    for (uint64_t i = 0; i < count; ++i) {
      Cursor entry = entries.take(entry_size, "symbol table entry");
      const uint64_t at = entry.position();
      std::string name = read_name(heap, entry.uint(image.offset_size), names);
      Link link;
      link.address = entry.address();
      constexpr uint32_t kSoft = 2;
      if (entry.u32() == kSoft) link.kind = Link::Kind::soft;
      add_link(links, std::move(name), link, at);
    }
  };
  const BTreeV1Kind kind{kGroupNode, static_cast<uint64_t>(image.length_size)};
  walk_btree_v1(image, tree_address, kind, read_node);
}

}  // namespace nyala::hdf5
