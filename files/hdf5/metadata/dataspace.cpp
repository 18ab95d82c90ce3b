#include <nyala/backend/core/shape.h>
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/metadata/dataspace.h>

namespace nyala::hdf5 {
namespace {

uint64_t count_elements(const Dataspace& space) {
  // Zero sizes must not hide others that are too large for a Shape.
  uint64_t count = 1, nonzero = 1;
  for (const uint64_t size : space.sizes) {
    count = size == 0 ? 0 : checked_multiply(count, size, "number of elements");
    nonzero = checked_multiply(nonzero, size == 0 ? 1 : size, "number of elements");
  }
  if (nonzero > INT64_MAX) throw Fault{kNoOffset, "the number of elements overflows 63 bits"};
  return count;
}

}  // namespace

Dataspace read_dataspace(Cursor body) {
  constexpr uint8_t kSimple = 1, kNull = 2, kHasMaxima = 1;
  const uint8_t version = body.u8();
  if (version != 1 && version != 2) body.fail("a dataspace of unknown version " + std::to_string(version));
  const int rank = body.u8();
  if (rank > Shape::kMaxRank)
    body.fail("an array of " + std::to_string(rank) + " axes; at most " + std::to_string(Shape::kMaxRank) +
              " are supported");
  const uint8_t flags = body.u8();
  const uint8_t type = body.u8();
  if (version == 1) body.skip(4);

  Dataspace space;
  if (version == 2 && type == kNull) {
    space.is_null = true;
    space.sizes = space.max_sizes = {0};
    space.count = 0;
    return space;
  }
  if (version == 2 && (type > kNull || (type == kSimple) != (rank > 0)))
    body.fail("a dataspace of type " + std::to_string(type) + " with " + std::to_string(rank) + " axes");
  for (int i = 0; i < rank; ++i) space.sizes.push_back(body.length());
  space.max_sizes = space.sizes;
  if ((flags & kHasMaxima) != 0)
    for (uint64_t& size : space.max_sizes) size = body.length();
  if (version == 1 && (flags & 2) != 0) body.fail("permuted axes are not supported");
  for (size_t i = 0; i < space.sizes.size(); ++i)
    if (space.max_sizes[i] < space.sizes[i]) body.fail("an axis is longer than its maximum");
  space.count = count_elements(space);
  return space;
}

}  // namespace nyala::hdf5
