#pragma once

#include <optional>
#include <string>

#include <nyala/nyala.h>

namespace nyala::benchmarks {

/// One of the compared networks with the shape of one example.
struct BenchmarkModel {
  Model model;
  Shape input;  // without the batch
  int64_t classes = 10;
  int64_t default_batch = 128;
};

/// "lenet5" (sigmoid), "lenet" (20/50 channels), "mlp" (784-512-512-10), "lstm", "transformer", "resnet20"
/// (32x32x3), "resnet18" (28x28x1, as d2l), "resnet50" and "mobilenet_v2" (224x224x3) or "xception"
/// (299x299x3), logits at the end, with layers of the dtype policy `dtype`, compiled with softmax
/// crossentropy and SGD(0.01, momentum 0.9), with CompileConfig::recompute_batch_normalization. Throws
/// InvalidArgumentError for another name.
BenchmarkModel make_benchmark_model(const std::string& name, const std::string& dtype = "float32",
                                    std::optional<bool> recompute = {});

}  // namespace nyala::benchmarks
