#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <nyala/backend/ops/elementwise/fused_activation.h>
#include <nyala/backend/ops/nn/convolution.h>

namespace nyala::onednn {

// oneDNN behind plain functions: this unit alone knows its API, and what differs between its versions 2
// and 3. Primitives are built once per problem and team size and kept; calls of them may run at the same
// time. All data is dense and row-major. Thread-safe.

/// float32 throughout; or bfloat16 values, summed in float32, beside weights and a bias of either dtype.
/// Weights are rounded while they are packed.
struct Dtypes {
  DType values = DType::float32;   // x, gradients, factors on the left
  DType weights = DType::float32;  // kernels, factors on the right
  DType output = DType::float32;   // that of the values, but float32 for the gradient of weights
  DType bias = DType::float32;
  bool rounds = false;  // float32 factors to bfloat16, where oneDNN is faster so
};

/// Whether this CPU has instructions for products of bfloat16 that oneDNN uses (AVX512_BF16 or AMX, unless
/// ONEDNN_MAX_CPU_ISA forbids them or NYALA_BFLOAT16_PRODUCTS=0 does). Without them oneDNN is slower than in
/// float32.
bool has_fast_bfloat16();

/// Of a product of the call's first two inputs, as its precision allows it.
Dtypes dtypes_of(const KernelCall& call);

/// c (rows, columns) = activation(a . b + bias).
struct MatmulProblem {
  int64_t rows = 0, inner = 0, columns = 0;
  bool transpose_a = false;  // a lies as (inner, rows) in memory, else (rows, inner)
  bool transpose_b = false;  // b lies as (columns, inner), else (inner, columns)
  bool bias = false;
  ops::Activation activation = ops::Activation::linear;
  bool packs_b = false;  // b are weights, worth a layout of oneDNN's own
  Dtypes dtypes{};
};

enum class ConvolutionPass : uint8_t { forward, backward_input, backward_kernel };

/// NHWC or NDHWC activations, HWIO or DHWIO kernels. Bias, sum and activation in the forward pass only.
struct ConvolutionProblem {
  ConvolutionPass pass = ConvolutionPass::forward;
  ops::ConvolutionGeometry geometry{};
  bool bias = false;
  ops::Activation activation = ops::Activation::linear;
  bool adds = false;  // to what the output holds, before the activation
  Dtypes dtypes{};
};

/// Tensors of one call, in the order of the op's inputs: forward (x, kernel, bias), backward_input (gradient,
/// kernel), backward_kernel (x, gradient); a product (a, b, bias).
struct Operands {
  std::array<const Tensor*, 3> inputs{};
  Tensor output;
  Tensor workspace;
};

/// Null where oneDNN has a good kernel for the problem, else why not.
const char* unsupported_reason(const MatmulProblem& problem);
const char* unsupported_reason(const ConvolutionProblem& problem);

/// Bytes of Operands::workspace.
size_t workspace(const MatmulProblem& problem);
size_t workspace(const ConvolutionProblem& problem);

/// Kernels are packed into oneDNN's own layout; a packed copy is kept as long as the kernel does not change.
void run(const MatmulProblem& problem, const Operands& operands);
void run(const ConvolutionProblem& problem, const Operands& operands);

/// A matrix in row-major memory whose rows lie `stride` elements apart.
template <class T>
struct Matrix {
  T* data;
  int64_t stride;
  operator Matrix<const T>() const { return {data, stride}; }
};

/// Matrices of one small product; `adds`: to what the output holds.
struct Factors {
  Matrix<const float> a, b;
  Matrix<float> output;
  bool adds = false;
};

/// output = scale * a . b, by the calling thread of a team alone, or by its own team outside of one. No bias,
/// no activation. prepare_multiply() once before, where the team is made.
void multiply(const MatmulProblem& problem, float scale, const Factors& factors);
void prepare_multiply();

/// How many primitives this process has created: constant over a warm training step.
uint64_t primitives_created();

/// The loaded library's version, "2.6.3".
std::string version();

}  // namespace nyala::onednn
