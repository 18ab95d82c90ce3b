#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <nyala/backend/core/op.h>
#include <nyala/backend/ops/base/strided_copy.h>

namespace nyala::ops {

enum class PadMode : uint8_t { constant, reflect, symmetric };

/// x with elements added before and behind each axis, given as one pair per axis. Mode "constant" adds
/// `value`; "reflect" mirrors about the edge element, "symmetric" about the edge itself. Unknown sizes stay
/// unknown. Throws ShapeError for a wrong number of pairs, negative widths, or a mirror wider than the axis;
/// InvalidArgumentError for another mode.
Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& widths,
           std::string_view mode = "constant", double value = 0.0);

struct PadDescriptor {
  std::array<int64_t, Shape::kMaxRank> before{}, after{};
  double value = 0.0;
  PadMode mode = PadMode::constant;
};
extern const OpDef kPad;

/// Input: the gradient of a mirrored pad's result -> the gradient of x. PadDescriptor.
extern const OpDef kPadBackward;

namespace detail {

/// Where the elements of x go in a call of kPad.
StridedCopy pad_copy(const KernelCall& call);
/// Sets every element of a kPad call's output to its value.
void fill_pad_value(const KernelCall& call);

}  // namespace detail

}  // namespace nyala::ops
