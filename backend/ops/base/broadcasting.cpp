#include <nyala/backend/ops/base/broadcasting.h>

#include <string>

namespace nyala {

using namespace nyala::detail;

std::array<int64_t, Shape::kMaxRank> broadcast_strides(const Shape& input, const Shape& output) {
  std::array<int64_t, Shape::kMaxRank> strides{};
  int64_t stride = 1;
  for (int axis = input.rank() - 1; axis >= 0; --axis) {
    const int position = axis + output.rank() - input.rank();
    strides[static_cast<size_t>(position)] = input[axis] == 1 ? 0 : stride;
    stride *= input[axis];
  }
  return strides;
}

void infer_broadcast(InferContext& c) {
  if (c.dtype(0) != c.dtype(1))
    c.fail("expected two inputs of one dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
           std::string(name_of(c.dtype(1))));
  c.output(0, broadcast(c.shape(0), c.shape(1), c.name()), c.dtype(0));
}

}  // namespace nyala
