#include <nyala/backend/kernels/cpu/affine_transform.h>
#include <nyala/backend/kernels/cpu/batch_normalization.h>
#include <nyala/backend/kernels/cpu/conv2d.h>
#include <nyala/backend/kernels/cpu/copies.h>
#include <nyala/backend/kernels/cpu/dense.h>
#include <nyala/backend/kernels/cpu/depthwise.h>
#include <nyala/backend/kernels/cpu/direct_convolution.h>
#include <nyala/backend/kernels/cpu/dot_product_attention.h>
#include <nyala/backend/kernels/cpu/dropout.h>
#include <nyala/backend/kernels/cpu/elementwise.h>
#include <nyala/backend/kernels/cpu/fused_activation.h>
#include <nyala/backend/kernels/cpu/gather.h>
#include <nyala/backend/kernels/cpu/gru.h>
#include <nyala/backend/kernels/cpu/layer_normalization.h>
#include <nyala/backend/kernels/cpu/list.h>
#include <nyala/backend/kernels/cpu/lstm.h>
#include <nyala/backend/kernels/cpu/matmul.h>
#include <nyala/backend/kernels/cpu/narrow_depthwise.h>
#include <nyala/backend/kernels/cpu/noise.h>
#include <nyala/backend/kernels/cpu/optimizer_updates.h>
#include <nyala/backend/kernels/cpu/pointwise.h>
#include <nyala/backend/kernels/cpu/pooling.h>
#include <nyala/backend/kernels/cpu/resize_images.h>
#include <nyala/backend/kernels/cpu/single_channel.h>
#include <nyala/backend/kernels/cpu/small_dense.h>
#include <nyala/backend/kernels/cpu/softmax.h>
#include <nyala/backend/kernels/cpu/tap_products.h>
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
