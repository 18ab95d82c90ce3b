// HDF5 File Format Specification 3.0, section III.A.2. How many records a node of each level may hold follows
// from the sizes of nodes, records and pointers, and with it how many bytes a count takes: this is computed
// from the leaves up before the walk. The depth is at most 32, nodes together are no larger than the file,
// and the number of records must be the one that was declared: no circle ends up in an endless walk.
#include <bit>
#include <vector>

#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/btree_v2.h>

namespace nyala::hdf5 {
namespace {

/// Signature, version, type and checksum of a node.
constexpr uint64_t kNodeOverhead = 4 + 1 + 1 + 4;
/// With two records per node this would be 2^32 of them.
constexpr uint64_t kMaxDepth = 32;

struct Pointer {
  uint64_t address;
  uint64_t records;
};

/// How the nodes of one level are laid out; level 0 is the leaves.
struct Level {
  uint64_t max_records;  ///< in one node
  uint64_t max_total;    ///< in one node and everything below
  uint64_t total_size;   ///< bytes of a number up to max_total
};

uint64_t bytes_for(uint64_t largest) { return (static_cast<uint64_t>(std::bit_width(largest)) + 7) / 8; }

class TreeWalkV2 {
 public:
  TreeWalkV2(const Image& image, BTreeV2Type type, const std::function<void(Cursor)>& visit)
      : image_(image), type_(type), visit_(visit), budget_(image) {}

  void tree(uint64_t address) {
    Cursor header = Cursor::to_end(image_, address, "B-tree header");
    header.expect_signature("BTHD");
    header.expect_version(0);
    expect_type(header);
    node_size_ = header.u32();
    record_size_ = header.u16();
    const uint64_t depth = header.u16();
    header.skip(2);  // split and merge percentages
    Pointer root{};
    root.address = header.address();
    root.records = header.u16();
    const uint64_t total = header.length();
    header.expect_checksum();
    measure_levels(header, depth);
    if (total > 0) node(root, depth);
    if (seen_ != total)
      throw Fault{address, "a B-tree declares " + std::to_string(total) + " records but holds " +
                               std::to_string(seen_)};
  }

 private:
  void expect_type(Cursor& cursor) {
    if (cursor.u8() != static_cast<uint8_t>(type_)) cursor.fail("a B-tree of another kind than expected");
  }

  uint64_t pointer_size(uint64_t level) const {
    const uint64_t total = level > 1 ? levels_[level - 1].total_size : 0;
    return static_cast<uint64_t>(image_.offset_size) + bytes_for(levels_[0].max_records) + total;
  }

  void measure_levels(const Cursor& header, uint64_t depth) {
    if (depth > kMaxDepth) header.fail("a B-tree of depth " + std::to_string(depth));
    if (record_size_ == 0 || node_size_ < kNodeOverhead + record_size_)
      header.fail("B-tree nodes too small for a record");
    const uint64_t in_leaf = (node_size_ - kNodeOverhead) / record_size_;
    levels_ = {{in_leaf, in_leaf, bytes_for(in_leaf)}};
    for (uint64_t level = 1; level <= depth; ++level) {
      const uint64_t pointer = pointer_size(level);
      if (node_size_ < kNodeOverhead + pointer) header.fail("B-tree nodes too small for a pointer");
      const uint64_t records = (node_size_ - kNodeOverhead - pointer) / (record_size_ + pointer);
      const uint64_t below = levels_.back().max_total;
      const uint64_t total =
          checked_add(checked_multiply(records + 1, below, "size of a B-tree"), records, "size of a B-tree");
      levels_.push_back({records, total, bytes_for(total)});
    }
  }

  void node(Pointer at, uint64_t level) {
    Cursor cursor(image_, at.address, node_size_, "B-tree node");
    budget_.spend(node_size_, at.address);
    cursor.expect_signature(level == 0 ? "BTLF" : "BTIN");
    cursor.expect_version(0);
    expect_type(cursor);
    if (at.records > levels_[level].max_records) cursor.fail("a B-tree node with too many records");
    Cursor records = cursor.take(at.records * record_size_, "B-tree node");
    std::vector<Pointer> children;
    for (uint64_t i = 0; level > 0 && i <= at.records; ++i) {
      Pointer& child = children.emplace_back();
      child.address = cursor.address();
      child.records = cursor.uint(static_cast<int>(bytes_for(levels_[0].max_records)));
      if (level > 1) cursor.skip(levels_[level - 1].total_size);
    }
    cursor.expect_checksum();
    for (uint64_t i = 0; i < at.records; ++i) {
      if (level > 0) node(children[i], level - 1);
      visit_(records.take(record_size_, "B-tree record"));
      ++seen_;
    }
    if (level > 0) node(children[at.records], level - 1);
  }

  const Image& image_;
  BTreeV2Type type_;
  const std::function<void(Cursor)>& visit_;
  WalkBudget budget_;
  uint64_t node_size_ = 0;
  uint64_t record_size_ = 0;
  uint64_t seen_ = 0;
  std::vector<Level> levels_;
};

}  // namespace

void walk_btree_v2(const Image& image, uint64_t header_address, BTreeV2Type type,
                   const std::function<void(Cursor)>& visit) {
  TreeWalkV2(image, type, visit).tree(header_address);
}

}  // namespace nyala::hdf5
