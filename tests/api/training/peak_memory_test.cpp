// The most bytes that tensors hold during a step of a small network: a count, the same on every machine with
// the same kernels. Bounds are in images, the size of one activation.
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala::peak_memory_test {
namespace {

constexpr int64_t kRows = 16, kSize = 32, kChannels = 32;
constexpr int kUnits = 12;
constexpr size_t kImage = size_t{kRows * kSize * kSize * kChannels} * sizeof(float);

Tensor unit(const Tensor& x, const std::string& dtype) {
  const Tensor z = Conv2D(kChannels, 3, {.padding = "same", .use_bias = false, .dtype = dtype})(x);
  return BatchNormalization({.dtype = dtype})(z);
}

Tensor relu(const Tensor& x, const std::string& dtype) { return ReLU({.dtype = dtype})(x); }

/// Convolution, BatchNormalization and relu, `units` times.
Model chain(const std::string& dtype, int units = kUnits) {
  const Tensor input = Input({kSize, kSize, kChannels});
  Tensor x = input;
  for (int i = 0; i < units; ++i) x = relu(unit(x, dtype), dtype);
  return Model(input, Dense(3)(GlobalAveragePooling2D({.dtype = dtype})(x)));
}

/// The same number of convolutions in residual blocks of two.
Model residual(const std::string& dtype, int units = kUnits) {
  const Tensor input = Input({kSize, kSize, kChannels});
  Tensor x = input;
  for (int i = 0; i < units / 2; ++i) {
    const Tensor y = unit(relu(unit(x, dtype), dtype), dtype);
    x = relu(Add({.dtype = dtype})({x, y}), dtype);
  }
  return Model(input, Dense(3)(GlobalAveragePooling2D({.dtype = dtype})(x)));
}

/// Images that live at the peak of a warm step, beside what lives between steps.
double peak(const Model& model, std::optional<bool> recompute = {}) {
  model.compile({.optimizer = SGD({.learning_rate = 0.01, .momentum = 0.9}),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .recompute_batch_normalization = recompute});
  const Batch batch{.x = {Tensor::full({kRows, kSize, kSize, kChannels}, 0.5)},
                    .y = {Tensor::zeros({kRows}, DType::int64)}};
  for (int i = 0; i < 2; ++i) model.train_on_batch(batch);
  const size_t before = allocator_stats(Device{}).live_bytes;
  reset_memory_stats(Device{});
  model.train_on_batch(batch);
  EXPECT_EQ(allocator_stats(Device{}).live_bytes, before);
  return static_cast<double>(allocator_stats(Device{}).peak_bytes - before) / static_cast<double>(kImage);
}

// Backward holds what it computes with: the gradient of an activation, that of what is in front of it, and
// what it makes again. Kernels have their workspace.
constexpr double kWork = 3.0;

TEST(PeakMemory, AChainKeepsOneImageForEachConvolution) {
  EXPECT_LE(peak(chain("float32")), kUnits + kWork);
  EXPECT_LE(peak(chain("float32"), false), 2 * kUnits + kWork);
  EXPECT_GE(peak(chain("float32"), false), 2 * kUnits);
}

TEST(PeakMemory, AResidualBlockKeepsThreeImagesForItsTwoConvolutions) {
  EXPECT_LE(peak(residual("float32")), kUnits / 2 * 3 + kWork);
  EXPECT_LE(peak(residual("float32"), false), kUnits / 2 * 4 + kWork);
}

/// What is beside the units does not count here: without instructions for bfloat16 products are made of
/// float32 copies, one layer at a time.
TEST(PeakMemory, AUnitOfSixteenBitsCostsHalf) {
  for (const auto make : {chain, residual}) {
    const auto cost = [&](const std::string& dtype) {
      return peak(make(dtype, 2 * kUnits)) - peak(make(dtype, kUnits));
    };
    EXPECT_LE(cost("mixed_bfloat16"), 0.55 * cost("float32"));
  }
}

}  // namespace
}  // namespace nyala::peak_memory_test
