#include <nyala/backend/kernels/cpu/base/copies.h>
#include <nyala/backend/kernels/cpu/convolution/conv2d.h>
#include <nyala/backend/kernels/cpu/convolution/depthwise.h>
#include <nyala/backend/kernels/cpu/convolution/direct_convolution.h>
#include <nyala/backend/kernels/cpu/convolution/narrow_depthwise.h>
#include <nyala/backend/kernels/cpu/convolution/pointwise.h>
#include <nyala/backend/kernels/cpu/convolution/single_channel.h>
#include <nyala/backend/kernels/cpu/convolution/tap_products.h>
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

namespace nyala {

void register_cpu_kernels(KernelTable& table) {
  register_elementwise(table);
  register_reductions(table);
  register_batch_normalization(table);
  register_fused_activation(table);
  register_layer_normalization(table);
  register_softmax(table);
  register_pooling(table);
  register_resize_images(table);
  register_affine_transform(table);
  register_single_channel(table);
  register_narrow_depthwise(table);
  register_depthwise(table);
  register_direct_convolution(table);
  register_pointwise(table);
  register_tap_products(table);
  register_conv2d(table);
  register_small_dense(table);
  register_dense(table);
  register_optimizer_updates(table);
  register_copies(table);
  register_dot_product_attention(table);
  register_dropout(table);
  register_noise(table);
  register_gather(table);
  register_gru(table);
  register_lstm(table);
  register_matmul(table);
}

}  // namespace nyala
