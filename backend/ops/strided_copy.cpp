#include <nyala/backend/ops/strided_copy.h>

#include <cstring>

#include <nyala/backend/core/error.h>

namespace nyala {

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
    if (out.rank > 0 && out.from[last] == from[axis] * sizes[axis] && out.to[last] == to[axis] * sizes[axis]) {
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

void copy_strided(const StridedCopy& copy, size_t element_bytes, const void* from, void* to) {
  const int64_t count = copy.num_elements(), bytes = static_cast<int64_t>(element_bytes);
  std::array<int64_t, StridedCopy::kMaxAxes> index{};
  int64_t in = copy.from_offset, out = copy.to_offset;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<char*>(to) + out * bytes, static_cast<const char*>(from) + in * bytes, element_bytes);
    for (size_t axis = static_cast<size_t>(copy.rank); axis-- > 0;) {
      in += copy.from[axis];
      out += copy.to[axis];
      if (++index[axis] < copy.sizes[axis]) break;
      in -= copy.from[axis] * index[axis];
      out -= copy.to[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace nyala
