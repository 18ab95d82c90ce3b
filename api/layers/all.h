#pragma once

// Every layer and what they are made with: one line here, and one below for those that files name.
#include <nyala/api/base/name_table.h>
#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/activation.h>
#include <nyala/api/layers/add.h>
#include <nyala/api/layers/additive_attention.h>
#include <nyala/api/layers/alpha_dropout.h>
#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/as_images.h>
#include <nyala/api/layers/attention.h>
#include <nyala/api/layers/attention_equations.h>
#include <nyala/api/layers/attention_inputs.h>
#include <nyala/api/layers/attention_node.h>
#include <nyala/api/layers/attention_projection.h>
#include <nyala/api/layers/average.h>
#include <nyala/api/layers/average_pooling1d.h>
#include <nyala/api/layers/average_pooling2d.h>
#include <nyala/api/layers/average_pooling3d.h>
#include <nyala/api/layers/axes.h>
#include <nyala/api/layers/batch_normalization.h>
#include <nyala/api/layers/bidirectional.h>
#include <nyala/api/layers/builder.h>
#include <nyala/api/layers/call_arguments.h>
#include <nyala/api/layers/category_codes.h>
#include <nyala/api/layers/category_encoding.h>
#include <nyala/api/layers/center_crop.h>
#include <nyala/api/layers/channels_first.h>
#include <nyala/api/layers/concatenate.h>
#include <nyala/api/layers/config_fields.h>
#include <nyala/api/layers/conv1d.h>
#include <nyala/api/layers/conv1d_transpose.h>
#include <nyala/api/layers/conv2d.h>
#include <nyala/api/layers/conv2d_transpose.h>
#include <nyala/api/layers/conv3d.h>
#include <nyala/api/layers/conv3d_transpose.h>
#include <nyala/api/layers/conv_lstm2d.h>
#include <nyala/api/layers/conv_transpose_config.h>
#include <nyala/api/layers/convolution_config.h>
#include <nyala/api/layers/convolution_support.h>
#include <nyala/api/layers/cropping1d.h>
#include <nyala/api/layers/cropping2d.h>
#include <nyala/api/layers/cropping3d.h>
#include <nyala/api/layers/custom_scale_layer.h>
#include <nyala/api/layers/dense.h>
#include <nyala/api/layers/depthwise_conv1d.h>
#include <nyala/api/layers/depthwise_conv2d.h>
#include <nyala/api/layers/depthwise_conv_config.h>
#include <nyala/api/layers/discretization.h>
#include <nyala/api/layers/dot.h>
#include <nyala/api/layers/dropout.h>
#include <nyala/api/layers/edge_sizes.h>
#include <nyala/api/layers/edges_layer.h>
#include <nyala/api/layers/einsum_dense.h>
#include <nyala/api/layers/einsum_dense_shapes.h>
#include <nyala/api/layers/elu.h>
#include <nyala/api/layers/embedding.h>
#include <nyala/api/layers/factor_range.h>
#include <nyala/api/layers/flatten.h>
#include <nyala/api/layers/fusable.h>
#include <nyala/api/layers/fused_activation.h>
#include <nyala/api/layers/gaussian_dropout.h>
#include <nyala/api/layers/gaussian_noise.h>
#include <nyala/api/layers/global_average_pooling1d.h>
#include <nyala/api/layers/global_average_pooling2d.h>
#include <nyala/api/layers/global_average_pooling3d.h>
#include <nyala/api/layers/global_max_pooling1d.h>
#include <nyala/api/layers/global_max_pooling2d.h>
#include <nyala/api/layers/global_max_pooling3d.h>
#include <nyala/api/layers/global_pooling_config.h>
#include <nyala/api/layers/group_normalization.h>
#include <nyala/api/layers/group_query_attention.h>
#include <nyala/api/layers/gru.h>
#include <nyala/api/layers/gru_cell.h>
#include <nyala/api/layers/image_augmentation.h>
#include <nyala/api/layers/image_boxes.h>
#include <nyala/api/layers/input.h>
#include <nyala/api/layers/lambda.h>
#include <nyala/api/layers/layer.h>
#include <nyala/api/layers/layer_normalization.h>
#include <nyala/api/layers/layer_scale.h>
#include <nyala/api/layers/leaky_relu.h>
#include <nyala/api/layers/lstm.h>
#include <nyala/api/layers/lstm_cell.h>
#include <nyala/api/layers/mask.h>
#include <nyala/api/layers/masking.h>
#include <nyala/api/layers/max_pooling1d.h>
#include <nyala/api/layers/max_pooling2d.h>
#include <nyala/api/layers/max_pooling3d.h>
#include <nyala/api/layers/maximum.h>
#include <nyala/api/layers/merge_layer.h>
#include <nyala/api/layers/minimum.h>
#include <nyala/api/layers/multi_head_attention.h>
#include <nyala/api/layers/multiply.h>
#include <nyala/api/layers/normalization.h>
#include <nyala/api/layers/padding_sizes2d.h>
#include <nyala/api/layers/permute.h>
#include <nyala/api/layers/pooling_config.h>
#include <nyala/api/layers/prelu.h>
#include <nyala/api/layers/quantile_summary.h>
#include <nyala/api/layers/random_brightness.h>
#include <nyala/api/layers/random_contrast.h>
#include <nyala/api/layers/random_crop.h>
#include <nyala/api/layers/random_flip.h>
#include <nyala/api/layers/random_rotation.h>
#include <nyala/api/layers/random_translation.h>
#include <nyala/api/layers/random_zoom.h>
#include <nyala/api/layers/recurrent_cell.h>
#include <nyala/api/layers/recurrent_layer.h>
#include <nyala/api/layers/relu.h>
#include <nyala/api/layers/repeat_vector.h>
#include <nyala/api/layers/rescaling.h>
#include <nyala/api/layers/reshape.h>
#include <nyala/api/layers/resizing.h>
#include <nyala/api/layers/rms_normalization.h>
#include <nyala/api/layers/rnn.h>
#include <nyala/api/layers/running_moments.h>
#include <nyala/api/layers/seeded_node.h>
#include <nyala/api/layers/separable_conv1d.h>
#include <nyala/api/layers/separable_conv2d.h>
#include <nyala/api/layers/separable_conv_config.h>
#include <nyala/api/layers/sequence_attention.h>
#include <nyala/api/layers/simple_rnn.h>
#include <nyala/api/layers/simple_rnn_cell.h>
#include <nyala/api/layers/size.h>
#include <nyala/api/layers/softmax.h>
#include <nyala/api/layers/spatial_dropout.h>
#include <nyala/api/layers/spatial_dropout1d.h>
#include <nyala/api/layers/spatial_dropout2d.h>
#include <nyala/api/layers/spatial_dropout3d.h>
#include <nyala/api/layers/stacked_rnn_cells.h>
#include <nyala/api/layers/stochastic_depth.h>
#include <nyala/api/layers/subtract.h>
#include <nyala/api/layers/time_distributed.h>
#include <nyala/api/layers/time_steps.h>
#include <nyala/api/layers/trailing_axes.h>
#include <nyala/api/layers/unit_normalization.h>
#include <nyala/api/layers/up_sampling1d.h>
#include <nyala/api/layers/up_sampling2d.h>
#include <nyala/api/layers/up_sampling3d.h>
#include <nyala/api/layers/window_sizes.h>
#include <nyala/api/layers/zero_padding1d.h>
#include <nyala/api/layers/zero_padding2d.h>
#include <nyala/api/layers/zero_padding3d.h>

namespace nyala {

using Layers =
    ClassList<Activation, Add, AdditiveAttention, AlphaDropout, Attention, Average, AveragePooling1D,
              AveragePooling2D, AveragePooling3D, BatchNormalization, Bidirectional, CategoryEncoding,
              CenterCrop, Concatenate, Conv1D, Conv1DTranspose, Conv2D, Conv2DTranspose, Conv3D,
              Conv3DTranspose, ConvLSTM2D, Cropping1D, Cropping2D, Cropping3D, CustomScaleLayer, Dense,
              DepthwiseConv1D, DepthwiseConv2D, Discretization, Dot, Dropout, EinsumDense, ELU, Embedding,
              Flatten, GaussianDropout, GaussianNoise, GlobalAveragePooling1D, GlobalAveragePooling2D,
              GlobalAveragePooling3D, GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D,
              GroupNormalization, GroupQueryAttention, GRU, GRUCell, LayerNormalization, LayerScale,
              LeakyReLU, LSTM, LSTMCell, Masking, Maximum, MaxPooling1D, MaxPooling2D, MaxPooling3D, Minimum,
              MultiHeadAttention, Multiply, Normalization, Permute, PReLU, RandomBrightness, RandomContrast,
              RandomCrop, RandomFlip, RandomRotation, RandomTranslation, RandomZoom, ReLU, RepeatVector,
              Rescaling, Reshape, Resizing, RMSNormalization, RNN, SeparableConv1D, SeparableConv2D,
              SimpleRNN, SimpleRNNCell, Softmax, SpatialDropout1D, SpatialDropout2D, SpatialDropout3D,
              StackedRNNCells, StochasticDepth, Subtract, TimeDistributed, UnitNormalization, UpSampling1D,
              UpSampling2D, UpSampling3D, ZeroPadding1D, ZeroPadding2D, ZeroPadding3D>;

}  // namespace nyala
