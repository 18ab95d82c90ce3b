#pragma once

#include <array>
#include <string>
#include <string_view>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// NumPy's einsum: letters name axes, "..." the axes that broadcast; letters that the
/// result lacks are summed over. "bqm,mnh->bqnh"; without "->" the result has the letters that occur once, in
/// alphabetical order, behind the "..." axes. A letter twice in one term takes the diagonal; an axis of size
/// 1 broadcasts. Computed by batched matmul; a copy in another order of axes is made only where no choice of
/// orders avoids it. Three tensors and more are multiplied pair by pair from the left, each letter summed
/// over as soon as no tensor to come has it. Dtypes are promoted. Throws InvalidArgumentError for an equation
/// that cannot be read, ShapeError where it does not fit the tensors.
Tensor einsum(std::string_view equation, const Tensors& operands);

struct EinsumDescriptor {
  static constexpr size_t kMaxLength = 150;
  std::array<char, kMaxLength + 1> equation{};  // ends with 0
};

/// The whole sum as one op with its plain loop: what traces a graph and what einsum() is compared with. It
/// has no gradient of its own; einsum() of tensors that hold values is made of ops that have.
extern const OpDef kEinsum;

}  // namespace nyala::ops
