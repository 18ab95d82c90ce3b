#pragma once

#include <string>
#include <vector>

namespace nyala {

/// Keras' equation of a projection inside MultiHeadAttention: `free` axes stay, `bound` ones are summed over,
/// `made` ones are new. (2, 1, 2): "abc,cde->abde", bias "de".
struct ProjectionEquation {
  std::string equation, bias_axes;
  std::vector<int64_t> output_shape;  // None, then `sizes`
};

namespace detail {

ProjectionEquation projection_equation(int free, int bound, const std::vector<int64_t>& sizes);

}  // namespace detail

/// Keras' equations of attention along `axes` of projected tensors of `rank` axes: scores of "key,query", and
/// the result of "scores,value".
struct AttentionEquations {
  std::string scores, result;
};

namespace detail {

AttentionEquations attention_equations(int rank, const std::vector<int64_t>& axes);

}  // namespace detail

}  // namespace nyala
