#pragma once

#include <functional>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala::testing {

/// What a check looks at: some ops on some inputs, giving one tensor.
using OpFunction = std::function<Tensor(const Tensors&)>;

struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-6;
  /// For expect_half(), which expect_kernels_agree() calls unless `half` is false: how many roundings to 16
  /// bits lie behind values and gradients.
  bool half = true;
  double half_values = 1;
  double half_gradients = 4;
};

/// A result and the gradients of the floating inputs (undefined for others), on the host. The output's
/// gradient is a fixed pattern of numbers, so that no element's share can hide behind another's.
struct Outcome {
  Tensor value;
  Tensors gradients;
};

/// Runs `f` on copies of `inputs` on `device` and walks back, if the result can be differentiated.
Outcome run_with_gradients(const OpFunction& f, const Tensors& inputs, Device device = {});

/// The same with a gradient of the result that `dtype` holds, so that runs in several dtypes begin alike.
Outcome run_with_gradients_of(DType dtype, const OpFunction& f, const Tensors& inputs);

/// Holds the gradients of `f` against central differences in float64. Floating inputs are widened to float64,
/// others passed on as they are. Values must not lie within 1e-4 of a kink of `f`.
void expect_gradients(const OpFunction& f, const Tensors& inputs, Tolerance tolerance = {2e-6, 2e-6});

/// Runs `f` in bfloat16 and in float16 on the float32 inputs rounded to them, and holds the result against
/// float64 on the same numbers: within one rounding (2^-8 and 2^-10), or the tolerance's number of them
/// beside the largest value.
void expect_half(const OpFunction& f, const Tensors& inputs, Tolerance tolerance = {});

/// Runs expect_half(), and `f` with the reference loops, with the kernels that are chosen by themselves, with
/// every fast kernel of the ops that `f` uses (forward and gradients; one that refuses is left out), and on
/// ghost:0; expects equal results.
void expect_kernels_agree(const OpFunction& f, const Tensors& inputs, Tolerance tolerance = {});

/// Runs `f` and returns the kernels that ran, as "add: avx512".
std::vector<std::string> kernels_that_run(const OpFunction& f, const Tensors& inputs);

/// Shape, dtype and each element: |a - b| <= absolute + relative * |b|; NaN equals NaN, infinity itself.
void expect_close(const Tensor& actual, const Tensor& expected, Tolerance tolerance = {},
                  const std::string& what = "");

/// The elements as double, whatever the dtype and device.
std::vector<double> values_of(const Tensor& tensor);

/// Uniform numbers in [low, high), the same for the same seed.
Tensor random_tensor(const Shape& shape, uint64_t seed, double low = -2.0, double high = 2.0,
                     DType dtype = DType::float32);

/// A tensor of the given numbers in `dtype`.
Tensor tensor_of(const std::vector<double>& values, const Shape& shape, DType dtype = DType::float32);

}  // namespace nyala::testing
