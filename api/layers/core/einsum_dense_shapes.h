#pragma once

#include <string>
#include <vector>

#include <nyala/backend/core/shape.h>

namespace nyala {

/// The equation of an EinsumDense, cut up.
struct EinsumDenseEquation {
  enum class Dots { none, left, right };
  std::string input, kernel, output;
  Dots dots = Dots::none;
};

namespace detail {

/// Throws InvalidArgumentError for another form than the three.
EinsumDenseEquation read_dense_equation(const std::string& equation);

}  // namespace detail

/// What follows from equation, input and output shape.
struct EinsumDenseShapes {
  Shape kernel, bias;                            // no bias: rank 0
  std::vector<int64_t> input_axes, output_axes;  // of the kernel: fan in, fan out
};

namespace detail {

/// Throws ShapeError naming the axis that does not fit.
EinsumDenseShapes shapes_of_dense(const EinsumDenseEquation& equation, const Shape& input,
                                  const std::vector<int64_t>& output_shape, const std::string& bias_axes);

/// Whether the kernel, seen as a matrix, multiplies the last axes of x as they lie: "bqm,mnh->bqnh" and
/// "bqnh,nhm->bqm". Then `contracted` is how many axes that are.
bool is_plain_product(const EinsumDenseEquation& equation, int& contracted);

}  // namespace detail

}  // namespace nyala
