#pragma once

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/layers/layer.h>
#include <nyala/api/layers/names_required.h>
#include <nyala/api/layers/size2d.h>

namespace nyala {

struct Conv2DConfig {
  NamesRequired names_required = NamesRequired();
  int64_t filters = 0;
  Size2D kernel_size = Size2D::none();
  Size2D strides = 1;
  std::string padding = "valid";  // or "same"
  std::string data_format = {};   // "channels_last"
  Size2D dilation_rate = 1;
  int64_t groups = 1;
  ActivationArgument activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::string name = {};
  bool trainable = true;
  std::string dtype = "float32";

  void fields(FieldVisitor& v);
};

/// activation(correlation with the kernel + bias). Input (batch, height, width, in), kernel (rows, columns,
/// in / groups, filters), output (batch, out height, out width, filters). "same" pads so that the output has
/// ceil(size / stride) rows and columns; an odd row or column is added at the end.
class Conv2D : public Layer {
 public:
  using Config = Conv2DConfig;
  /// Throws InvalidArgumentError unless filters, kernel_size, strides, dilation_rate and groups are above 0,
  /// groups divide filters, and strides or dilation_rate is 1.
  explicit Conv2D(const Config& config);
  Conv2D(int64_t filters, Size2D kernel_size, Config config = {});
};

}  // namespace nyala
