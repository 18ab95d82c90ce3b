// How fast the ops of the benchmark models run, kernel by kernel: Google Benchmark with one line per op and
// shape.
//   ops_benchmark [--benchmark_filter=...]; NYALA_THREADS sets the team (default: all cores),
//   NYALA_KERNEL the only kernel to run (ops without it choose freely).

#include <cstdlib>
#include <functional>

#include <benchmark/benchmark.h>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/crossentropy.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/pooling.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;
namespace {

using ops::Activation;

Tensor numbers(const Shape& shape, double first = -1.0) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  uint32_t state = 12345;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(first + 2.0 * (state >> 8) / 16777216.0);
  }
  return Tensor::from(values, shape);
}

struct Work {
  double flops = 0;
  double bytes = 0;
};

void measure(const std::string& name, const Work& work, std::function<Tensor()> op) {
  benchmark::RegisterBenchmark(name.c_str(), [work, op](benchmark::State& state) {
    if (const char* threads = std::getenv("NYALA_THREADS"))
      thread_context().compute_threads = std::atoi(threads);
    if (const char* kernel = std::getenv("NYALA_KERNEL")) thread_context().only_kernel = kernel;
    for (auto _ : state) benchmark::DoNotOptimize(op());
    const auto rate = benchmark::Counter::kIsIterationInvariantRate;
    if (work.flops > 0) state.counters["FLOP/s"] = benchmark::Counter(work.flops, rate);
    if (work.bytes > 0) state.counters["B/s"] = benchmark::Counter(work.bytes, rate);
  })->UseRealTime();
}

void convolution(const std::string& name, const Shape& x, const Shape& kernel, const ops::Conv2DOptions& o) {
  const Tensor in = numbers(x), k = numbers(kernel), bias = numbers({kernel[3]});
  const Tensor y = ops::conv2d(in, k, bias, o), dz = numbers(y.shape());
  const ops::Conv2DDescriptor d{
      {o.strides[0], o.strides[1]}, {o.dilation[0], o.dilation[1]}, o.groups, o.padding, o.activation};
  const ops::Conv2DBackwardDescriptor input{d, {x[1], x[2]}}, weights{d, {kernel[0], kernel[1]}};
  const Work work{2.0 * static_cast<double>(y.num_elements() * kernel[0] * kernel[1] * kernel[2])};
  const Work memory{0, 3.0 * static_cast<double>(y.bytes())};
  measure(name + "/forward", work, [=] { return ops::conv2d(in, k, bias, o); });
  if (x[3] > 3)
    measure(name + "/backward_input", work, [=] {
      return dispatch(ops::kConv2DBackwardInput, input, {&dz, &k});
    });
  measure(name + "/backward_kernel", work, [=] {
    return dispatch(ops::kConv2DBackwardKernel, weights, {&in, &dz});
  });
  measure(name + "/backward_activation", memory, [=] {
    return ops::activation_backward(dz, y,
                                    o.activation == Activation::linear ? Activation::relu : o.activation);
  });
  measure(name + "/backward_bias", {0, static_cast<double>(y.bytes())},
          [=] { return dispatch(ops::kBiasGradient, NoDescriptor{}, {&dz}); });
}

void dense(const std::string& name, int64_t rows, int64_t in, int64_t units, Activation activation) {
  const Tensor x = numbers({rows, in}), k = numbers({in, units}), bias = numbers({units}),
               dz = numbers({rows, units});
  const Work work{2.0 * static_cast<double>(rows * in * units)};
  measure(name + "/forward", work, [=] { return ops::dense(x, k, bias, activation); });
  measure(name + "/backward_input", work, [=] {
    return dispatch(ops::kDenseBackwardInput, NoDescriptor{}, {&dz, &k});
  });
  measure(name + "/backward_kernel", work, [=] {
    return dispatch(ops::kDenseBackwardKernel, NoDescriptor{}, {&x, &dz});
  });
}

void pooling(const std::string& name, const Shape& shape) {
  const Tensor x = numbers(shape), y = ops::max_pooling2d(x), dy = numbers(y.shape());
  const Work work{0, static_cast<double>(x.bytes() + y.bytes())};
  ops::Pooling2DDescriptor d;
  d.input_sizes = {shape[1], shape[2]};
  measure(name + "/max/forward", work, [=] { return ops::max_pooling2d(x); });
  measure(name + "/max/backward", {0, work.bytes + static_cast<double>(x.bytes())}, [=] {
    return dispatch(ops::kMaxPooling2DBackward, d, {&dy, &x});
  });
  measure(name + "/average/forward", work, [=] { return ops::average_pooling2d(x); });
  measure(name + "/average/backward", work,
          [=] { return dispatch(ops::kAveragePooling2DBackward, d, {&dy}); });
}

void normalization(const std::string& name, const Shape& shape, Activation activation) {
  const int64_t c = shape.back();
  const Tensor x = numbers(shape), dy = numbers(shape), gamma = numbers({c}), beta = numbers({c});
  const Tensor statistics = numbers({1 + 2 * c}, 1.0), sums = numbers({2, c});
  const ops::BatchNormalizationDescriptor d{1e-3, nullptr, activation, true, true};
  const double bytes = static_cast<double>(x.bytes());
  auto run = [d](const OpDef& op, const std::vector<Tensor>& inputs) {
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) pointers.push_back(&input);
    Tensor y;
    dispatch(op, d, pointers, std::span(&y, 1));
    return y;
  };
  measure(name + "/moments", {0, bytes}, [=] { return ops::batch_moments(x); });
  measure(name + "/forward", {0, 2 * bytes}, [=] {
    return run(ops::kBatchNormalizationForward, {x, statistics, gamma, beta});
  });
  measure(name + "/sums", {0, 2 * bytes}, [=] {
    return run(ops::kBatchNormalizationSums, {dy, x, statistics, gamma, beta});
  });
  measure(name + "/backward", {0, 3 * bytes}, [=] {
    return run(ops::kBatchNormalizationBackward, {dy, x, statistics, sums, gamma, beta});
  });
}

void depthwise(const std::string& name, const Shape& x, int64_t kernel, int stride) {
  ops::Conv2DOptions options{.strides = {stride, stride}, .padding = "same"};
  options.groups = static_cast<int>(x[3]);
  convolution(name, x, {kernel, kernel, 1, x[3]}, options);
}

void pointwise(const std::string& name, const Shape& x, int64_t filters, int stride) {
  convolution(name, x, {1, 1, x[3], filters}, {.strides = {stride, stride}, .padding = "same"});
}

/// What MobileNetV2, ResNet-50 and Xception are made of, at their batches.
void register_applications() {
  depthwise("mobilenet_v2/depthwise_112_s1", {16, 112, 112, 32}, 3, 1);
  depthwise("mobilenet_v2/depthwise_112_s2", {16, 112, 112, 96}, 3, 2);
  depthwise("mobilenet_v2/depthwise_56_s1", {16, 56, 56, 144}, 3, 1);
  depthwise("mobilenet_v2/depthwise_56_s2", {16, 56, 56, 144}, 3, 2);
  depthwise("mobilenet_v2/depthwise_14_s1", {16, 14, 14, 384}, 3, 1);
  depthwise("mobilenet_v2/depthwise_7_s1", {16, 7, 7, 960}, 3, 1);
  depthwise("xception/depthwise_147_s1", {8, 147, 147, 128}, 3, 1);
  depthwise("xception/depthwise_19_s1", {8, 19, 19, 728}, 3, 1);
  depthwise("efficientnet/depthwise5_28_s1", {16, 28, 28, 240}, 5, 1);
  depthwise("efficientnet/depthwise5_56_s2", {16, 56, 56, 144}, 5, 2);
  pointwise("mobilenet_v2/expand_112", {16, 112, 112, 16}, 96, 1);
  pointwise("mobilenet_v2/expand_56", {16, 56, 56, 24}, 144, 1);
  pointwise("mobilenet_v2/project_56", {16, 56, 56, 144}, 24, 1);
  pointwise("mobilenet_v2/expand_14", {16, 14, 14, 64}, 384, 1);
  pointwise("mobilenet_v2/project_7", {16, 7, 7, 960}, 160, 1);
  pointwise("mobilenet_v2/last", {16, 7, 7, 320}, 1280, 1);
  pointwise("resnet50/1x1_56_64to256", {16, 56, 56, 64}, 256, 1);
  pointwise("resnet50/1x1_14_1024to256", {16, 14, 14, 1024}, 256, 1);
  pointwise("resnet50/1x1_56to28_s2", {16, 56, 56, 256}, 512, 2);
  pointwise("resnet50/1x1_14to7_s2", {16, 14, 14, 1024}, 2048, 2);
  pointwise("xception/pointwise_147", {8, 147, 147, 128}, 128, 1);
  pointwise("xception/pointwise_19", {8, 19, 19, 728}, 728, 1);
  convolution("mobilenet_v2/first", {16, 224, 224, 3}, {3, 3, 3, 32}, {.strides = {2, 2}, .padding = "same"});
  convolution("resnet50/first", {16, 230, 230, 3}, {7, 7, 3, 64}, {.strides = {2, 2}});
  convolution("resnet50/3x3_14", {16, 14, 14, 256}, {3, 3, 256, 256}, {.padding = "same"});
  convolution("resnet50/3x3_56", {16, 56, 56, 64}, {3, 3, 64, 64}, {.padding = "same"});
  convolution("vgg/3x3_28", {8, 28, 28, 256}, {3, 3, 256, 512}, {.padding = "same"});
  convolution("xception/second", {8, 149, 149, 32}, {3, 3, 32, 64}, {});
  convolution("resnet18/3x3_28", {64, 28, 28, 64}, {3, 3, 64, 64}, {.padding = "same"});
  convolution("resnet18/3x3_14", {64, 14, 14, 128}, {3, 3, 128, 128}, {.padding = "same"});
  convolution("resnet18/3x3_7", {64, 7, 7, 256}, {3, 3, 256, 256}, {.padding = "same"});
  convolution("resnet18/3x3_4", {64, 4, 4, 512}, {3, 3, 512, 512}, {.padding = "same"});
  normalization("mobilenet_v2/bn96_112", {16, 112, 112, 96}, Activation::relu6);
  normalization("mobilenet_v2/bn960_7", {16, 7, 7, 960}, Activation::relu6);
  normalization("resnet50/bn256_56", {16, 56, 56, 256}, Activation::relu);
  normalization("xception/bn728_19", {8, 19, 19, 728}, Activation::linear);
}

void crossentropy(const std::string& name, int64_t rows, int64_t classes) {
  const Tensor x = numbers({rows, classes}), g = numbers({rows});
  const Tensor labels = Tensor::zeros({rows}, DType::int32);
  const ops::SparseCrossentropyDescriptor d{.from_logits = true};
  measure(name + "/forward", {0, static_cast<double>(x.bytes())},
          [=] { return ops::sparse_categorical_crossentropy(labels, x, {.from_logits = true}); });
  measure(name + "/backward", {0, 2 * static_cast<double>(x.bytes())}, [=] {
    return dispatch(ops::kSparseCategoricalCrossentropyBackward, d, {&g, &x, &labels});
  });
}

void register_all() {
  const Activation relu = Activation::relu, sigmoid = Activation::sigmoid;
  convolution("lenet5/conv1", {256, 28, 28, 1}, {5, 5, 1, 6}, {.padding = "same", .activation = sigmoid});
  convolution("lenet5/conv2", {256, 14, 14, 6}, {5, 5, 6, 16}, {.activation = sigmoid});
  pooling("lenet5/pool1", {256, 28, 28, 6});
  pooling("lenet5/pool2", {256, 10, 10, 16});
  dense("lenet5/dense1", 256, 400, 120, sigmoid);
  dense("lenet5/dense2", 256, 120, 84, sigmoid);
  dense("lenet5/dense3", 256, 84, 10, Activation::linear);
  convolution("lenet/conv1", {256, 28, 28, 1}, {3, 3, 1, 20}, {.activation = relu});
  convolution("lenet/conv2", {256, 13, 13, 20}, {5, 5, 20, 50}, {.activation = relu});
  pooling("lenet/pool1", {256, 26, 26, 20});
  pooling("lenet/pool2", {256, 9, 9, 50});
  dense("lenet/dense1", 256, 800, 128, relu);
  crossentropy("lenet/crossentropy", 256, 10);
  convolution("resnet20/first", {128, 32, 32, 3}, {3, 3, 3, 16}, {.padding = "same"});
  convolution("resnet20/16", {128, 32, 32, 16}, {3, 3, 16, 16}, {.padding = "same"});
  convolution("resnet20/16to32", {128, 32, 32, 16}, {3, 3, 16, 32}, {.strides = {2, 2}, .padding = "same"});
  convolution("resnet20/16to32_1x1", {128, 32, 32, 16}, {1, 1, 16, 32},
              {.strides = {2, 2}, .padding = "same"});
  convolution("resnet20/32", {128, 16, 16, 32}, {3, 3, 32, 32}, {.padding = "same"});
  convolution("resnet20/64", {128, 8, 8, 64}, {3, 3, 64, 64}, {.padding = "same"});
  normalization("resnet20/bn16", {128, 32, 32, 16}, relu);
  normalization("resnet20/bn64", {128, 8, 8, 64}, relu);
  dense("mlp/dense1", 128, 784, 512, relu);
  dense("mlp/dense2", 128, 512, 512, relu);
  dense("mlp/dense3", 128, 512, 10, Activation::linear);
  register_applications();
}

}  // namespace
}  // namespace nyala

int main(int argc, char** argv) {
  nyala::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
