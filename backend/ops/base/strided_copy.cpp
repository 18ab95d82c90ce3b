#include <cstring>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/strided_copy.h>

namespace nyala {

using namespace nyala::detail;

void StridedCopy::add_axis(int64_t size, int64_t from_stride, int64_t to_stride) {
  check_internal(rank < kMaxAxes, "a strided copy has too many axes");
  const size_t axis = static_cast<size_t>(rank++);
  sizes[axis] = size;
  from[axis] = from_stride;
  to[axis] = to_stride;
}

int64_t StridedCopy::num_elements() const {
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) count *= sizes[static_cast<size_t>(axis)];
  return count;
}

StridedCopy StridedCopy::merged() const {
  StridedCopy out;
  out.from_offset = from_offset;
  out.to_offset = to_offset;
  for (size_t axis = 0; axis < static_cast<size_t>(rank); ++axis) {
    if (sizes[axis] == 1) continue;
    const size_t last = static_cast<size_t>(out.rank - 1);
    if (out.rank > 0 && out.from[last] == from[axis] * sizes[axis] &&
        out.to[last] == to[axis] * sizes[axis]) {
      out.sizes[last] *= sizes[axis];
      out.from[last] = from[axis];
      out.to[last] = to[axis];
    } else {
      out.add_axis(sizes[axis], from[axis], to[axis]);
    }
  }
  if (out.rank == 0) out.add_axis(1, 1, 1);
  return out;
}

StridedWalk::StridedWalk(const StridedCopy& copy, int axes, int64_t start)
    : from(copy.from_offset), to(copy.to_offset), copy_(copy), axes_(axes) {
  for (size_t axis = static_cast<size_t>(axes); axis-- > 0; start /= copy.sizes[axis]) {
    index_[axis] = start % copy.sizes[axis];
    from += index_[axis] * copy.from[axis];
    to += index_[axis] * copy.to[axis];
  }
}

void detail::copy_strided(const StridedCopy& copy, size_t element_bytes, const void* from, void* to) {
  const int64_t count = copy.num_elements(), bytes = static_cast<int64_t>(element_bytes);
  if (count == 0) return;
  StridedWalk at(copy, copy.rank, 0);
  for (int64_t i = 0; i < count; ++i, at.advance())
    std::memcpy(static_cast<char*>(to) + at.to * bytes, static_cast<const char*>(from) + at.from * bytes,
                element_bytes);
}

}  // namespace nyala
