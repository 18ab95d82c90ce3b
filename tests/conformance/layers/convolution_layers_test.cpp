#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/tests/conformance/layers/run_layer_test.h>

namespace nyala {
namespace {

template <class L>
void run(typename L::Config config, const Shapes& inputs) {
  const auto make = [config](const std::string& dtype) mutable {
    config.dtype = dtype;
    return L(config);
  };
  run_layer_test({.make = make, .inputs = inputs});
}

TEST(LayerConformance, Conv1D) {
  run<Conv1D>({.filters = 3, .kernel_size = 3}, {{2, 6, 2}});
  run<Conv1D>({.filters = 2, .kernel_size = 2, .strides = 3, .padding = "same", .activation = "tanh"},
              {{2, 7, 3}});
  run<Conv1D>({.filters = 2, .kernel_size = 3, .padding = "causal", .dilation_rate = 2}, {{2, 5, 2}});
  run<Conv1D>({.filters = 4, .kernel_size = 2, .groups = 2, .use_bias = false}, {{1, 4, 4}});
}

TEST(LayerConformance, Conv3D) {
  run<Conv3D>({.filters = 2, .kernel_size = {2, 3, 1}}, {{1, 3, 4, 2, 2}});
  run<Conv3D>({.filters = 2, .kernel_size = 2, .strides = {1, 2, 2}, .padding = "same", .activation = "silu"},
              {{1, 2, 3, 4, 1}});
  run<Conv3D>({.filters = 2, .kernel_size = 2, .dilation_rate = 2, .groups = 2}, {{1, 3, 3, 4, 2}});
}

TEST(LayerConformance, ConvTranspose) {
  run<Conv1DTranspose>({.filters = 3, .kernel_size = 3, .strides = 2, .padding = "same"}, {{2, 4, 2}});
  run<Conv1DTranspose>({.filters = 2, .kernel_size = 2, .strides = 3, .output_padding = 1}, {{2, 3, 2}});
  run<Conv2DTranspose>({.filters = 2, .kernel_size = 3, .activation = "sigmoid"}, {{2, 3, 2, 2}});
  run<Conv2DTranspose>({.filters = 1, .kernel_size = {2, 3}, .strides = {3, 2}, .padding = "same"},
                       {{1, 2, 3, 2}});
  run<Conv2DTranspose>({.filters = 2, .kernel_size = 2, .dilation_rate = 2, .use_bias = false},
                       {{1, 2, 3, 1}});
  run<Conv3DTranspose>({.filters = 2, .kernel_size = 2, .strides = {2, 1, 2}, .padding = "same"},
                       {{1, 2, 2, 2, 1}});
}

TEST(LayerConformance, DepthwiseConv) {
  run<DepthwiseConv1D>({.kernel_size = 3}, {{2, 5, 3}});
  run<DepthwiseConv1D>({.kernel_size = 2, .strides = 2, .padding = "same", .depth_multiplier = 2},
                       {{2, 5, 2}});
  run<DepthwiseConv2D>({.kernel_size = 3, .activation = "tanh"}, {{2, 4, 3, 2}});
  run<DepthwiseConv2D>({.kernel_size = 2,
                        .strides = 2,
                        .padding = "same",
                        .depth_multiplier = 2,
                        .dilation_rate = 2,
                        .use_bias = false},
                       {{1, 4, 5, 2}});
}

TEST(LayerConformance, SeparableConv) {
  run<SeparableConv1D>({.filters = 3, .kernel_size = 2, .depth_multiplier = 2}, {{2, 4, 2}});
  run<SeparableConv2D>({.filters = 2, .kernel_size = {2, 3}, .padding = "same", .activation = "gelu"},
                       {{1, 3, 4, 2}});
}

TEST(LayerConformance, ChannelsFirst) {
  run<Conv2D>({.filters = 3, .kernel_size = 2, .data_format = "channels_first", .activation = "tanh"},
              {{2, 2, 4, 3}});
  run<SeparableConv1D>({.filters = 3, .kernel_size = 2, .data_format = "channels_first"}, {{2, 2, 4}});
  run<AveragePooling3D>({.pool_size = 2, .data_format = "channels_first"}, {{1, 2, 2, 4, 3}});
  run<GlobalMaxPooling2D>({.data_format = "channels_first"}, {{2, 3, 4, 2}});
}

TEST(LayerConformance, Pooling1DAnd3D) {
  run<MaxPooling1D>({}, {{2, 5, 3}});
  run<MaxPooling1D>({.pool_size = 3, .strides = 2, .padding = "same"}, {{2, 6, 2}});
  run<AveragePooling1D>({.pool_size = 3, .strides = 1, .padding = "same"}, {{2, 5, 2}});
  run<MaxPooling3D>({}, {{2, 3, 4, 2, 2}});
  run<MaxPooling3D>({.pool_size = 3, .strides = {1, 2, 1}, .padding = "same"}, {{1, 3, 4, 2, 2}});
  run<AveragePooling3D>({.pool_size = {2, 3, 1}, .strides = {1, 2, 2}, .padding = "same"}, {{1, 3, 4, 3, 2}});
}

TEST(LayerConformance, GlobalPooling1DAnd3D) {
  run<GlobalMaxPooling1D>({.keepdims = true}, {{2, 4, 3}});
  run<GlobalAveragePooling1D>({}, {{2, 4, 3}});
  run<GlobalMaxPooling3D>({}, {{2, 2, 3, 2, 2}});
  run<GlobalAveragePooling3D>({.keepdims = true}, {{2, 2, 3, 2, 2}});
}

}  // namespace
}  // namespace nyala
