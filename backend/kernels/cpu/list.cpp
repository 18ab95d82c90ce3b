#include <nyala/backend/kernels/cpu/base/copies.h>
#include <nyala/backend/kernels/cpu/convolution/conv2d.h>
#include <nyala/backend/kernels/cpu/convolution/depthwise.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution.h>
#include <nyala/backend/kernels/cpu/convolution/narrow_depthwise.h>
#include <nyala/backend/kernels/cpu/convolution/pointwise.h>
#include <nyala/backend/kernels/cpu/convolution/shifted_gemm.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel.h>
#include <nyala/backend/kernels/cpu/convolution/winograd.h>
#include <nyala/backend/kernels/cpu/dense/dense.h>
#include <nyala/backend/kernels/cpu/dense/dot_product_attention.h>
#include <nyala/backend/kernels/cpu/dense/matmul.h>
#include <nyala/backend/kernels/cpu/dense/small_dense.h>
#include <nyala/backend/kernels/cpu/elementwise/dropout.h>
#include <nyala/backend/kernels/cpu/elementwise/elementwise.h>
#include <nyala/backend/kernels/cpu/elementwise/fused_activation.h>
#include <nyala/backend/kernels/cpu/elementwise/gather.h>
#include <nyala/backend/kernels/cpu/elementwise/noise.h>
#include <nyala/backend/kernels/cpu/image/affine_transform.h>
#include <nyala/backend/kernels/cpu/image/pooling.h>
#include <nyala/backend/kernels/cpu/image/resize_images.h>
#include <nyala/backend/kernels/cpu/list.h>
#include <nyala/backend/kernels/cpu/normalization/batch_normalization.h>
#include <nyala/backend/kernels/cpu/normalization/layer_normalization.h>
#include <nyala/backend/kernels/cpu/normalization/softmax.h>
#include <nyala/backend/kernels/cpu/recurrent/gru.h>
#include <nyala/backend/kernels/cpu/recurrent/lstm.h>
#include <nyala/backend/kernels/cpu/update/optimizer_updates.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/dense.h>

namespace nyala {

const std::vector<KernelOrder>& cpu_kernel_orders() {
  static const auto& all = *new std::vector<KernelOrder>{
      {&ops::kConv2D,
       {"single_channel_avx512", "single_channel_avx2", "narrow_depthwise_avx512", "narrow_depthwise_avx2",
        "direct_avx512", "direct_avx2", "winograd4_avx512", "winograd4_avx2", "winograd_avx512",
        "winograd_avx2", "shifted_gemm", "onednn"}},
      {&ops::kConv2DOnto,
       {"winograd4_avx512", "winograd4_avx2", "winograd_avx512", "winograd_avx2", "shifted_gemm", "onednn"}},
      {&ops::kConv2DBackwardInput,
       {"narrow_depthwise_avx512", "narrow_depthwise_avx2", "depthwise_avx512", "depthwise_avx2",
        "direct_avx512", "direct_avx2", "winograd4_avx512", "winograd4_avx2", "winograd_avx512",
        "winograd_avx2", "onednn_product", "onednn"}},
      {&ops::kConv2DBackwardKernel,
       {"narrow_depthwise_avx512", "narrow_depthwise_avx2", "depthwise_avx512", "depthwise_avx2",
        "direct_avx512", "direct_avx2", "winograd4_avx512", "winograd4_avx2", "winograd_avx512",
        "winograd_avx2", "onednn_product", "shifted_gemm", "onednn"}},
      {&ops::kDense, {"small_avx512", "small_avx2", "onednn"}},
      {&ops::kDenseBackwardKernel, {"small_avx512", "small_avx2", "onednn"}},
      {&ops::kDenseBackwardInput, {"small_avx512", "small_avx2", "onednn"}},
  };
  return all;
}

void register_cpu_kernels(KernelTable& table) {
  register_affine_transform(table);
  register_batch_normalization(table);
  register_conv2d(table);
  register_copies(table);
  register_dense(table);
  register_depthwise(table);
  register_direct_convolution(table);
  register_dot_product_attention(table);
  register_dropout(table);
  register_elementwise(table);
  register_fused_activation(table);
  register_gather(table);
  register_gru(table);
  register_layer_normalization(table);
  register_lstm(table);
  register_matmul(table);
  register_narrow_depthwise(table);
  register_noise(table);
  register_optimizer_updates(table);
  register_pointwise(table);
  register_pooling(table);
  register_reductions(table);
  register_resize_images(table);
  register_single_channel(table);
  register_small_dense(table);
  register_softmax(table);
  register_shifted_gemm(table);
  register_winograd(table);
  for (const auto& [op, names] : cpu_kernel_orders()) table.order(*op, DeviceKind::cpu, names);
}

}  // namespace nyala
