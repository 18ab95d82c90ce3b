// HDF5 File Format Specification 3.0, section III.A.1: nodes of keys and children in turn, whose level goes
// down by one to 0. A node that breaks this, or more nodes than the file can hold, is a fault.
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/btree_v1.h>

namespace nyala::hdf5 {
namespace {

constexpr int kAnyLevel = -1;
/// Far more than 2^64 entries need with two per node.
constexpr int kMaxLevel = 64;

class TreeWalkV1 {
 public:
  TreeWalkV1(const Image& image, BTreeV1Kind kind, const std::function<void(Cursor, uint64_t)>& visit)
      : image_(image), kind_(kind), visit_(visit), budget_(image) {}

  void node(uint64_t address, int expected_level) {
    Cursor cursor = Cursor::to_end(image_, address, "B-tree node");
    cursor.expect_signature("TREE");
    if (cursor.u8() != kind_.node_type) cursor.fail("a B-tree node of another kind than its tree");
    const int level = cursor.u8();
    if (level > kMaxLevel || (expected_level != kAnyLevel && level != expected_level))
      cursor.fail("a B-tree node of level " + std::to_string(level) + " at the wrong depth");
    const uint64_t entries = cursor.u16();
    cursor.address();  // left sibling
    cursor.address();  // right sibling
    const uint64_t entry_size = kind_.key_size + static_cast<uint64_t>(image_.offset_size);
    Cursor pairs = cursor.take(entries * entry_size, "B-tree node");
    budget_.spend(cursor.consumed(), address);
    for (uint64_t i = 0; i < entries; ++i) {
      const Cursor key = pairs.take(kind_.key_size, "B-tree key");
      const uint64_t child = pairs.address();
      if (level == 0) {
        visit_(key, child);
      } else {
        node(child, level - 1);
      }
    }
  }

 private:
  const Image& image_;
  BTreeV1Kind kind_;
  const std::function<void(Cursor, uint64_t)>& visit_;
  WalkBudget budget_;
};

}  // namespace

void walk_btree_v1(const Image& image, uint64_t root, BTreeV1Kind kind,
                   const std::function<void(Cursor, uint64_t)>& visit) {
  TreeWalkV1(image, kind, visit).node(root, kAnyLevel);
}

}  // namespace nyala::hdf5
