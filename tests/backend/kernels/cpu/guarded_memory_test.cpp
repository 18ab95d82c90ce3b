#include <algorithm>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/pooling.h>
#include <nyala/backend/ops/nn/softmax.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;
namespace {

/// A tensor whose last byte is followed by a page that nobody may touch.
Tensor guarded(const Shape& shape) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * sizeof(float);
  const size_t mapped = (bytes + page - 1) / page * page;
  char* memory = static_cast<char*>(
      mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory + mapped, page, PROT_NONE);
  std::shared_ptr<void> owner(memory, [mapped, page](void* p) { munmap(p, mapped + page); });
  const Tensor tensor = Tensor::wrap(memory + mapped - bytes, shape, DType::float32, owner);
  std::span<float> values = tensor.data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25f + static_cast<float>(i % 5);
  return tensor;
}

/// Runs every fast kernel that takes the call; one that leaves its tensors dies.
void run_all_kernels(const OpDef& op, const Descriptor& descriptor, const std::vector<Tensor>& inputs,
                     const Shape& output) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  for (const Kernel& kernel : KernelTable::instance().fast_kernels(op, DeviceKind::cpu)) {
    if (kernel.name == "onednn") continue;
    Tensor result = guarded(output);
    const KernelCall call{&op, &kernel, descriptor.data(), pointers, {&result, 1}, {}};
    if (kernel.unsupported_reason && kernel.unsupported_reason(call)) continue;
    ScopedValue<std::string_view> only(thread_context().only_kernel, kernel.name);
    dispatch(op, descriptor, pointers, std::span(&result, 1));
  }
}

TEST(GuardedMemory, Convolutions) {
  struct Case {
    Shape x, kernel;
    ops::Padding2D padding;
    int32_t stride;
    int32_t groups = 1, dilation = 1;
  };
  const std::vector<Case> cases = {
      {{2, 13, 13, 20}, {5, 5, 20, 50}, {}, 1},
      {{1, 14, 14, 6}, {5, 5, 6, 16}, {}, 1},
      {{2, 9, 7, 6}, {3, 3, 6, 32}, "same", 2},
      {{1, 28, 28, 1}, {5, 5, 1, 6}, "same", 1},
      {{2, 28, 28, 1}, {3, 3, 1, 20}, {}, 1},
      {{1, 5, 6, 1}, {2, 3, 1, 10}, {}, 1},
      {{1, 8, 8, 5}, {4, 4, 5, 16}, {}, 3},
      {{3, 3, 3, 7}, {3, 3, 7, 48}, {1, 1, 0, 2}, 1},
      {{2, 7, 9, 20}, {3, 3, 1, 20}, "same", 1, 20, 2},
      {{1, 9, 8, 5}, {2, 5, 1, 5}, {2, 1, 0, 4}, 2, 5, 1},
      {{2, 7, 9, 20}, {3, 3, 1, 20}, "same", 1, 20, 1},
      {{1, 6, 6, 37}, {3, 3, 1, 37}, {0, 1, 0, 1}, 2, 37, 1},
      {{2, 9, 11, 5}, {5, 5, 1, 5}, "same", 1, 5, 1},
      {{1, 8, 8, 24}, {5, 5, 1, 24}, "same", 2, 24, 1},
      {{1, 4, 1, 16}, {3, 3, 1, 16}, "same", 1, 16, 1},
      {{1, 3, 3, 512}, {1, 1, 512, 1024}, "same", 2},
      {{2, 3, 5, 64}, {1, 1, 64, 130}, {}, 1},
      {{17, 4, 4, 256}, {3, 3, 256, 257}, "same", 1},
  };
  for (const Case& c : cases) {
    const ops::Conv2DDescriptor d{.strides = {c.stride, c.stride},
                                  .dilation = {c.dilation, c.dilation},
                                  .groups = c.groups,
                                  .padding = c.padding};
    const ops::ConvolutionGeometry g = ops::detail::convolution_geometry(d, c.x, c.kernel);
    const Shape y{g.batch, g.out_height, g.out_width, g.out_channels};
    const Tensor x = guarded(c.x), kernel = guarded(c.kernel), bias = guarded({g.out_channels}),
                 dz = guarded(y);
    run_all_kernels(ops::kConv2D, d, {x, kernel, bias}, y);
    run_all_kernels(ops::kConv2DBackwardInput, ops::Conv2DBackwardDescriptor{d, {c.x[1], c.x[2]}},
                    {dz, kernel}, c.x);
    run_all_kernels(ops::kConv2DBackwardKernel, ops::Conv2DBackwardDescriptor{d, {c.kernel[0], c.kernel[1]}},
                    {x, dz}, c.kernel);
  }
}

/// oneDNN 2.6 wrote behind its scratch memory for strided 1x1 convolutions of few channels.
TEST(GuardedMemory, OneDnnStaysInItsScratchMemory) {
  constexpr size_t kGuard = 1 << 16;
  constexpr uint8_t kMark = 0x5a;
  for (const int64_t channels : {3, 4, 8, 12, 16, 24}) {
    SCOPED_TRACE(channels);
    const Descriptor descriptor = ops::Conv2DBackwardDescriptor{{.strides = {2, 2}}, {1, 1}};
    const Tensor x = guarded({4, 60, 60, channels}), dz = guarded({4, 30, 30, 16});
    const std::vector<const Tensor*> inputs = {&x, &dz};
    for (const Kernel& kernel :
         KernelTable::instance().fast_kernels(ops::kConv2DBackwardKernel, DeviceKind::cpu)) {
      if (kernel.name != "onednn") continue;
      const Tensor result = guarded({1, 1, channels, 16});
      KernelCall call{&ops::kConv2DBackwardKernel, &kernel, descriptor.data(), inputs, {&result, 1}, {}};
      if (const char* reason = kernel.unsupported_reason(call); reason && *reason) continue;
      const size_t bytes = kernel.workspace(call);
      call.workspace = Tensor::from(std::vector<uint8_t>(bytes + kGuard, kMark));
      kernel.run(call);
      const std::span<const uint8_t> behind = call.workspace.data<uint8_t>().subspan(bytes);
      EXPECT_EQ(std::count(behind.begin(), behind.end(), kMark), static_cast<ptrdiff_t>(kGuard));
    }
  }
}

TEST(GuardedMemory, Pooling) {
  for (const int64_t channels : {1, 6, 16, 20, 50})
    for (const int32_t stride : {1, 2, 3}) {
      ops::Pooling2DDescriptor d{.strides = {stride, stride}, .padding = "same", .input_sizes = {7, 5}};
      const Shape x{2, 7, 5, channels};
      const ops::Pooling2DGeometry g = ops::detail::pooling2d_geometry(d, x);
      const Shape y{2, g.out_height, g.out_width, channels};
      run_all_kernels(ops::kMaxPooling2D, d, {guarded(x)}, y);
      run_all_kernels(ops::kAveragePooling2D, d, {guarded(x)}, y);
      run_all_kernels(ops::kMaxPooling2DBackward, d, {guarded(y), guarded(x)}, x);
      run_all_kernels(ops::kAveragePooling2DBackward, d, {guarded(y)}, x);
    }
}

TEST(GuardedMemory, ChannelLoops) {
  for (const int64_t c : {1, 3, 10, 16, 20, 50, 64, 100})
    for (const int64_t rows : {1, 7, 33}) {
      const Shape shape{rows, c};
      const Tensor x = guarded(shape), statistics = guarded({1 + 2 * c}), vector = guarded({c}),
                   sums = guarded({2, c});
      const ops::BatchNormalizationDescriptor d{1e-3, nullptr, ops::Activation::relu, true, true};
      run_all_kernels(ops::kBiasGradient, NoDescriptor{}, {x}, {c});
      run_all_kernels(ops::kActivationBackward, ops::ActivationDescriptor{ops::Activation::tanh}, {x, x},
                      shape);
      run_all_kernels(ops::kBatchMoments, NoDescriptor{}, {x}, {1 + 2 * c});
      run_all_kernels(ops::kBatchNormalizationForward, d, {x, statistics, vector, vector}, shape);
      run_all_kernels(ops::kBatchNormalizationSums, d, {x, x, statistics, vector, vector}, {2, c});
      run_all_kernels(ops::kBatchNormalizationBackward, d, {x, x, statistics, sums, vector, vector}, shape);
      run_all_kernels(ops::kSoftmax, ops::SoftmaxDescriptor{}, {x}, shape);
      run_all_kernels(ops::kLogSoftmax, ops::SoftmaxDescriptor{}, {x}, shape);
      run_all_kernels(ops::kSoftmaxBackward, ops::SoftmaxDescriptor{}, {x, x}, shape);
      run_all_kernels(ops::kLogSoftmaxBackward, ops::SoftmaxDescriptor{}, {x, x}, shape);
      run_all_kernels(ops::kSparseCategoricalCrossentropyBackward,
                      ops::SparseCrossentropyDescriptor{.from_logits = true},
                      {guarded({rows}), x, guarded({rows})}, shape);
    }
}

}  // namespace
}  // namespace nyala
