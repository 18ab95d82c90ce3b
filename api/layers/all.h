#pragma once

// Every layer and what they are made with: one line here, and one below for those that files name.
#include <nyala/api/base/name_table.h>
#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/activations/activation.h>
#include <nyala/api/layers/activations/elu.h>
#include <nyala/api/layers/activations/leaky_relu.h>
#include <nyala/api/layers/activations/prelu.h>
#include <nyala/api/layers/activations/relu.h>
#include <nyala/api/layers/activations/softmax.h>
#include <nyala/api/layers/attention/additive_attention.h>
#include <nyala/api/layers/attention/attention.h>
#include <nyala/api/layers/attention/attention_equations.h>
#include <nyala/api/layers/attention/attention_inputs.h>
#include <nyala/api/layers/attention/attention_node.h>
#include <nyala/api/layers/attention/attention_projection.h>
#include <nyala/api/layers/attention/group_query_attention.h>
#include <nyala/api/layers/attention/multi_head_attention.h>
#include <nyala/api/layers/attention/sequence_attention.h>
#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/as_images.h>
#include <nyala/api/layers/base/axes.h>
#include <nyala/api/layers/base/builder.h>
#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/custom_scale_layer.h>
#include <nyala/api/layers/base/edge_sizes.h>
#include <nyala/api/layers/base/edges_layer.h>
#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/api/layers/base/fused_activation.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/base/lora.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/layers/base/padding_sizes2d.h>
#include <nyala/api/layers/base/running_moments.h>
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/api/layers/base/size.h>
#include <nyala/api/layers/base/time_steps.h>
#include <nyala/api/layers/base/trailing_axes.h>
#include <nyala/api/layers/base/window_sizes.h>
#include <nyala/api/layers/convolutional/conv_transpose.h>
#include <nyala/api/layers/convolutional/convolution.h>
#include <nyala/api/layers/convolutional/convolution_support.h>
#include <nyala/api/layers/convolutional/depthwise_conv.h>
#include <nyala/api/layers/convolutional/separable_conv.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/layers/core/einsum_dense.h>
#include <nyala/api/layers/core/einsum_dense_shapes.h>
#include <nyala/api/layers/core/embedding.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/layers/core/lambda.h>
#include <nyala/api/layers/core/masking.h>
#include <nyala/api/layers/merging/concatenate.h>
#include <nyala/api/layers/merging/dot.h>
#include <nyala/api/layers/merging/merge_layer.h>
#include <nyala/api/layers/normalization/batch_normalization.h>
#include <nyala/api/layers/normalization/group_normalization.h>
#include <nyala/api/layers/normalization/layer_normalization.h>
#include <nyala/api/layers/normalization/layer_scale.h>
#include <nyala/api/layers/normalization/rms_normalization.h>
#include <nyala/api/layers/normalization/unit_normalization.h>
#include <nyala/api/layers/pooling/global_pooling.h>
#include <nyala/api/layers/pooling/pooling.h>
#include <nyala/api/layers/preprocessing/aug_mix.h>
#include <nyala/api/layers/preprocessing/augmentation_policy.h>
#include <nyala/api/layers/preprocessing/auto_contrast.h>
#include <nyala/api/layers/preprocessing/category_codes.h>
#include <nyala/api/layers/preprocessing/category_encoding.h>
#include <nyala/api/layers/preprocessing/center_crop.h>
#include <nyala/api/layers/preprocessing/clahe.h>
#include <nyala/api/layers/preprocessing/cut_mix.h>
#include <nyala/api/layers/preprocessing/discretization.h>
#include <nyala/api/layers/preprocessing/equalization.h>
#include <nyala/api/layers/preprocessing/hash_key.h>
#include <nyala/api/layers/preprocessing/hashed_crossing.h>
#include <nyala/api/layers/preprocessing/hashing.h>
#include <nyala/api/layers/preprocessing/image_augmentation.h>
#include <nyala/api/layers/preprocessing/image_augmentations.h>
#include <nyala/api/layers/preprocessing/image_boxes.h>
#include <nyala/api/layers/preprocessing/image_colours.h>
#include <nyala/api/layers/preprocessing/image_histograms.h>
#include <nyala/api/layers/preprocessing/image_mixing.h>
#include <nyala/api/layers/preprocessing/image_numbers.h>
#include <nyala/api/layers/preprocessing/image_patches.h>
#include <nyala/api/layers/preprocessing/image_sampling.h>
#include <nyala/api/layers/preprocessing/image_smoothing.h>
#include <nyala/api/layers/preprocessing/image_tiles.h>
#include <nyala/api/layers/preprocessing/integer_lookup.h>
#include <nyala/api/layers/preprocessing/lookup_vocabulary.h>
#include <nyala/api/layers/preprocessing/max_num_bounding_boxes.h>
#include <nyala/api/layers/preprocessing/mix_up.h>
#include <nyala/api/layers/preprocessing/normalization.h>
#include <nyala/api/layers/preprocessing/pipeline.h>
#include <nyala/api/layers/preprocessing/quantile_summary.h>
#include <nyala/api/layers/preprocessing/rand_augment.h>
#include <nyala/api/layers/preprocessing/random_brightness.h>
#include <nyala/api/layers/preprocessing/random_color_degeneration.h>
#include <nyala/api/layers/preprocessing/random_color_jitter.h>
#include <nyala/api/layers/preprocessing/random_contrast.h>
#include <nyala/api/layers/preprocessing/random_crop.h>
#include <nyala/api/layers/preprocessing/random_elastic_transform.h>
#include <nyala/api/layers/preprocessing/random_erasing.h>
#include <nyala/api/layers/preprocessing/random_flip.h>
#include <nyala/api/layers/preprocessing/random_gaussian_blur.h>
#include <nyala/api/layers/preprocessing/random_grayscale.h>
#include <nyala/api/layers/preprocessing/random_hue.h>
#include <nyala/api/layers/preprocessing/random_invert.h>
#include <nyala/api/layers/preprocessing/random_perspective.h>
#include <nyala/api/layers/preprocessing/random_posterization.h>
#include <nyala/api/layers/preprocessing/random_rotation.h>
#include <nyala/api/layers/preprocessing/random_saturation.h>
#include <nyala/api/layers/preprocessing/random_sharpness.h>
#include <nyala/api/layers/preprocessing/random_shear.h>
#include <nyala/api/layers/preprocessing/random_translation.h>
#include <nyala/api/layers/preprocessing/random_zoom.h>
#include <nyala/api/layers/preprocessing/rescaling.h>
#include <nyala/api/layers/preprocessing/resizing.h>
#include <nyala/api/layers/preprocessing/solarization.h>
#include <nyala/api/layers/preprocessing/token_counts.h>
#include <nyala/api/layers/regularization/alpha_dropout.h>
#include <nyala/api/layers/regularization/dropout.h>
#include <nyala/api/layers/regularization/gaussian_dropout.h>
#include <nyala/api/layers/regularization/gaussian_noise.h>
#include <nyala/api/layers/regularization/spatial_dropout.h>
#include <nyala/api/layers/regularization/stochastic_depth.h>
#include <nyala/api/layers/reshaping/cropping.h>
#include <nyala/api/layers/reshaping/flatten.h>
#include <nyala/api/layers/reshaping/permute.h>
#include <nyala/api/layers/reshaping/repeat_vector.h>
#include <nyala/api/layers/reshaping/reshape.h>
#include <nyala/api/layers/reshaping/up_sampling.h>
#include <nyala/api/layers/reshaping/zero_padding.h>
#include <nyala/api/layers/rnn/bidirectional.h>
#include <nyala/api/layers/rnn/conv_lstm2d.h>
#include <nyala/api/layers/rnn/gru.h>
#include <nyala/api/layers/rnn/gru_cell.h>
#include <nyala/api/layers/rnn/lstm.h>
#include <nyala/api/layers/rnn/lstm_cell.h>
#include <nyala/api/layers/rnn/recurrent_cell.h>
#include <nyala/api/layers/rnn/recurrent_layer.h>
#include <nyala/api/layers/rnn/rnn.h>
#include <nyala/api/layers/rnn/simple_rnn.h>
#include <nyala/api/layers/rnn/simple_rnn_cell.h>
#include <nyala/api/layers/rnn/stacked_rnn_cells.h>
#include <nyala/api/layers/rnn/time_distributed.h>

namespace nyala {

using Layers = ClassList<
    Activation, Add, AdditiveAttention, AlphaDropout, Attention, AugMix, AutoContrast, Average,
    AveragePooling1D, AveragePooling2D, AveragePooling3D, BatchNormalization, Bidirectional, CategoryEncoding,
    CenterCrop, Concatenate, ContrastLimitedAdaptiveHistogramEqualization, Conv1D, Conv1DTranspose, Conv2D,
    Conv2DTranspose, Conv3D, Conv3DTranspose, ConvLSTM2D, Cropping1D, Cropping2D, Cropping3D,
    CustomScaleLayer, CutMix, Dense, DepthwiseConv1D, DepthwiseConv2D, Discretization, Dot, Dropout,
    EinsumDense, ELU, Embedding, Equalization, Flatten, GaussianDropout, GaussianNoise,
    GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalAveragePooling3D, GlobalMaxPooling1D,
    GlobalMaxPooling2D, GlobalMaxPooling3D, GroupNormalization, GroupQueryAttention, GRU, GRUCell,
    HashedCrossing, Hashing, IntegerLookup, LayerNormalization, LayerScale, LeakyReLU, LSTM, LSTMCell,
    Masking, Maximum, MaxNumBoundingBoxes, MaxPooling1D, MaxPooling2D, MaxPooling3D, Minimum, MixUp,
    MultiHeadAttention, Multiply, Normalization, Permute, Pipeline, PReLU, RandAugment, RandomBrightness,
    RandomColorDegeneration, RandomColorJitter, RandomContrast, RandomCrop, RandomElasticTransform,
    RandomErasing, RandomFlip, RandomGaussianBlur, RandomGrayscale, RandomHue, RandomInvert,
    RandomPerspective, RandomPosterization, RandomRotation, RandomSaturation, RandomSharpness, RandomShear,
    RandomTranslation, RandomZoom, ReLU, RepeatVector, Rescaling, Reshape, Resizing, RMSNormalization, RNN,
    SeparableConv1D, SeparableConv2D, SimpleRNN, SimpleRNNCell, Softmax, Solarization, SpatialDropout1D,
    SpatialDropout2D, SpatialDropout3D, StackedRNNCells, StochasticDepth, Subtract, TimeDistributed,
    UnitNormalization, UpSampling1D, UpSampling2D, UpSampling3D, ZeroPadding1D, ZeroPadding2D, ZeroPadding3D>;

}  // namespace nyala
