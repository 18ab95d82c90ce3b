#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/backend/core/shape.h>

namespace nyala::ops {

/// An einsum equation worked out for its tensors: one label per axis. Axes that "..." stands for are labelled
/// '0', '1', ... from the last one on, so that they line up as in broadcasting.
struct EinsumTerms {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, int64_t> sizes;  // None where unknown; of an axis that broadcasts: the larger one
};

namespace detail {

/// Throws InvalidArgumentError for an equation that cannot be read, ShapeError where it does not fit.
EinsumTerms read_einsum(std::string_view equation, const std::vector<Shape>& shapes);

}  // namespace detail

}  // namespace nyala::ops
