// How fast bfloat16 and float16 are beside float32, op by op, forward and back, in the shapes of ResNet-50.
// Rounds take turns, so that all see the same machine; medians of milliseconds, and float32's over the 16-bit
// ones: above 1 the 16-bit float is faster.
//   half_benchmark [rounds]; NYALA_THREADS sets the team (default: all cores).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {
namespace {

using Clock = std::chrono::steady_clock;
using Op = std::function<Tensor()>;

constexpr DType kDtypes[] = {DType::float32, DType::bfloat16, DType::float16};

Tensor numbers(const Shape& shape, DType dtype) {
  return ops::cast(ops::random_uniform(shape, -1.0, 1.0, {.key = 1}), dtype);
}

struct Case {
  std::string name;
  std::function<Op(DType)> of;
};

struct Layer {
  const char* name;
  int64_t batch, size, channels, window, filters;
};

void add_convolution(std::vector<Case>& cases, const Layer& l) {
  const Shape x{l.batch, l.size, l.size, l.channels}, k{l.window, l.window, l.channels, l.filters},
      y{l.batch, l.size, l.size, l.filters};
  const ops::Conv2DDescriptor d{.padding = "same"};
  const ops::Conv2DBackwardDescriptor input{d, {l.size, l.size}}, weights{d, {l.window, l.window}};
  // Weights are float32, as those of a layer are.
  cases.push_back({std::string(l.name) + " forward", [=](DType dtype) -> Op {
                     const Tensor in = numbers(x, dtype), kernel = numbers(k, DType::float32);
                     return [=] { return ops::conv2d(in, kernel, {}, {.padding = "same"}); };
                   }});
  cases.push_back({std::string(l.name) + " by data", [=](DType dtype) -> Op {
                     const Tensor dy = numbers(y, dtype), kernel = numbers(k, DType::float32);
                     return [=] { return dispatch(ops::kConv2DBackwardInput, input, {&dy, &kernel}); };
                   }});
  cases.push_back({std::string(l.name) + " by weights", [=](DType dtype) -> Op {
                     const Tensor in = numbers(x, dtype), dy = numbers(y, dtype);
                     return [=] { return dispatch(ops::kConv2DBackwardKernel, weights, {&in, &dy}); };
                   }});
}

void add_dense(std::vector<Case>& cases, int64_t rows, int64_t in, int64_t units) {
  cases.push_back(
      {"dense forward", [=](DType dtype) -> Op {
         const Tensor x = numbers({rows, in}, dtype), kernel = numbers({in, units}, DType::float32);
         return [=] { return ops::dense(x, kernel); };
       }});
  cases.push_back(
      {"dense by data", [=](DType dtype) -> Op {
         const Tensor dy = numbers({rows, units}, dtype), kernel = numbers({in, units}, DType::float32);
         return [=] { return dispatch(ops::kDenseBackwardInput, NoDescriptor{}, {&dy, &kernel}); };
       }});
  cases.push_back({"dense by weights", [=](DType dtype) -> Op {
                     const Tensor x = numbers({rows, in}, dtype), dy = numbers({rows, units}, dtype);
                     return [=] { return dispatch(ops::kDenseBackwardKernel, NoDescriptor{}, {&x, &dy}); };
                   }});
}

void add_normalization(std::vector<Case>& cases, const Shape& shape) {
  const int64_t channels = shape.back();
  const Tensor gamma = numbers({channels}, DType::float32), beta = numbers({channels}, DType::float32),
               statistics = Tensor::full({1 + 2 * channels}, 1.0), sums = Tensor::full({2, channels}, 1.0);
  const ops::BatchNormalizationDescriptor d{1e-3, nullptr, ops::Activation::relu, true, true};
  cases.push_back({"batch moments", [=](DType dtype) -> Op {
                     const Tensor x = numbers(shape, dtype);
                     return [=] { return ops::batch_moments(x); };
                   }});
  cases.push_back({"batch normalization", [=](DType dtype) -> Op {
                     const Tensor x = numbers(shape, dtype);
                     return [=] {
                       return dispatch(ops::kBatchNormalizationForward, d, {&x, &statistics, &gamma, &beta});
                     };
                   }});
  cases.push_back(
      {"its sums", [=](DType dtype) -> Op {
         const Tensor x = numbers(shape, dtype), dy = numbers(shape, dtype);
         return [=] {
           return dispatch(ops::kBatchNormalizationSums, d, {&dy, &x, &statistics, &gamma, &beta});
         };
       }});
  cases.push_back(
      {"its gradient", [=](DType dtype) -> Op {
         const Tensor x = numbers(shape, dtype), dy = numbers(shape, dtype);
         return [=] {
           return dispatch(ops::kBatchNormalizationBackward, d, {&dy, &x, &statistics, &sums, &gamma, &beta});
         };
       }});
}

/// Ops of whole tensors of one shape.
void add_elementwise(std::vector<Case>& cases, const Shape& shape) {
  using Two = std::function<Tensor(const Tensor&, const Tensor&)>;
  const auto add = [&](const char* name, const Two& op) {
    cases.push_back({name, [=](DType dtype) -> Op {
                       const Tensor a = numbers(shape, dtype), b = numbers(shape, dtype);
                       return [=] { return op(a, b); };
                     }});
  };
  add("relu", [](const Tensor& a, const Tensor&) { return ops::relu(a); });
  add("relu gradient",
      [](const Tensor& a, const Tensor& b) { return ops::activation_backward(a, b, ops::Activation::relu); });
  add("add", [](const Tensor& a, const Tensor& b) { return a + b; });
  add("multiply", [](const Tensor& a, const Tensor& b) { return a * b; });
  add("scale", [](const Tensor& a, const Tensor&) { return a * 0.5; });
  add("gelu", [](const Tensor& a, const Tensor&) { return ops::gelu(a, true); });
  add("global mean", [](const Tensor& a, const Tensor&) { return ops::mean(a, {1, 2}); });
  add("max pooling 3x3/2", [](const Tensor& a, const Tensor&) {
    return ops::max_pooling2d(a, {.pool_size = {3, 3}, .strides = {2, 2}, .padding = "same"});
  });
  add("softmax", [](const Tensor& a, const Tensor&) { return ops::softmax(a); });
  add("layer normalization",
      [](const Tensor& a, const Tensor&) { return ops::layer_normalization(a, {}, {}, {}); });
  add("concatenate", [](const Tensor& a, const Tensor& b) { return ops::concatenate({a, b}); });
}

double milliseconds(const Op& op) {
  const auto start = Clock::now();
  int calls = 0;
  double passed = 0;
  do {
    op();
    ++calls;
    passed = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  } while (passed < 5.0);
  return passed / calls;
}

void measure(const Case& each, int rounds) {
  std::vector<Op> works;
  for (const DType dtype : kDtypes) works.push_back(each.of(dtype));
  std::vector<std::vector<double>> times(works.size());
  for (const Op& op : works) op();
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < works.size(); ++i) times[i].push_back(milliseconds(works[i]));
  std::vector<double> medians;
  for (std::vector<double>& all : times) {
    std::sort(all.begin(), all.end());
    medians.push_back(all[all.size() / 2]);
  }
  std::printf("%-28s %9.3f %9.3f %9.3f %9.2f %9.2f\n", each.name.c_str(), medians[0], medians[1], medians[2],
              medians[0] / medians[1], medians[0] / medians[2]);
}

void measure_all(int rounds) {
  std::vector<Case> cases;
  add_convolution(cases, {"conv 3x3 64@56", 8, 56, 64, 3, 64});
  add_convolution(cases, {"conv 1x1 256@14", 8, 14, 256, 1, 1024});
  add_dense(cases, 64, 2048, 1000);
  add_normalization(cases, {16, 56, 56, 64});
  add_elementwise(cases, {16, 56, 56, 64});
  std::printf("products of bfloat16 by oneDNN: %s\n", onednn::has_fast_bfloat16() ? "yes" : "no");
  std::printf("%-28s %9s %9s %9s %9s %9s\n", "milliseconds", "float32", "bfloat16", "float16", "f32/bf16",
              "f32/f16");
  for (const Case& each : cases) measure(each, rounds);
}

}  // namespace
}  // namespace nyala

int main(int argc, char** argv) {
  if (const char* threads = std::getenv("NYALA_THREADS"))
    nyala::detail::thread_context().compute_threads = std::atoi(threads);
  nyala::measure_all(argc > 1 ? std::atoi(argv[1]) : 15);
}
