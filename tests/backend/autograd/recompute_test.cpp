// Values that the tape does not hold but makes again for the gradients that read them.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/autograd/differentiate.h>
#include <nyala/backend/autograd/recompute.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/batch_normalization.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;
namespace {

struct Gradients final : GradientSink {
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t leaf, const Tensor& gradient) override {
    of[leaf] = gradient.astype(DType::float32).to_vector<float>();
  }
  std::map<int32_t, std::vector<float>> of;
};

Tensor numbers(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 37 + static_cast<size_t>(seed) * 101) % 89) / 40.0f - 1.0f;
  return Tensor::from(values, shape);
}

constexpr int64_t kChannels = 16;
const Shape kImages{8, 16, 16, kChannels};

/// A loss behind `blocks` of convolution, BatchNormalization and activation; every other output is read
/// twice.
struct Network {
  std::shared_ptr<Tape> tape = std::make_shared<Tape>();
  Tensor x, loss;
  size_t kept_bytes = 0;  // by the tape when the loss is known

  Network(int blocks, std::optional<bool> recompute, ops::Activation activation = ops::Activation::relu,
          int64_t kernel_size = 1) {
    const size_t before = allocator_stats(Device{}).live_bytes;
    x = tape->watch(numbers(kImages, 1), 0);
    Tensor y = x;
    for (int b = 0; b < blocks; ++b) {
      const int leaf = 3 * b + 1;
      const Tensor kernel =
          tape->watch(numbers({kernel_size, kernel_size, kChannels, kChannels}, leaf), leaf);
      const Tensor gamma = tape->watch(numbers({kChannels}, leaf + 1), leaf + 1);
      const Tensor beta = tape->watch(numbers({kChannels}, leaf + 2), leaf + 2);
      const Tensor z = ops::conv2d(y, kernel, {}, {.padding = "same"});
      Tensor n = ops::detail::batch_normalization_train(z, gamma, beta,
                                                        {.activation = activation, .recompute = recompute})
                     .y;
      y = b % 2 == 0 ? n : n * n;
    }
    loss = ops::sum(y);
    y = Tensor();
    kept_bytes = allocator_stats(Device{}).live_bytes - before;
  }
};

TEST(Recompute, GivesTheSameBits) {
  for (const ops::Activation activation :
       {ops::Activation::linear, ops::Activation::relu, ops::Activation::relu6}) {
    Network kept(5, false, activation), recomputed(5, true, activation);
    EXPECT_EQ(kept.loss.item(), recomputed.loss.item());
    Gradients expected, received;
    backward(*kept.tape, kept.loss, expected);
    backward(*recomputed.tape, recomputed.loss, received);
    EXPECT_EQ(received.of, expected.of);
    EXPECT_EQ(received.of.size(), 16u);
  }
}

TEST(Recompute, KeepsNoOutputs) {
  const size_t image = static_cast<size_t>(kImages.num_elements()) * sizeof(float);
  const Network kept(7, false), recomputed(7, true);
  // Of seven outputs the last one is read by a sum, which keeps its input only where it says so.
  EXPECT_GE(kept.kept_bytes, recomputed.kept_bytes + 6 * image);
}

TEST(Recompute, UnaskedWhereTheConvolutionInFrontHasMuchToCompute) {
  constexpr auto relu = ops::Activation::relu;
  static_assert(kChannels < ops::kCheapRecompute && 25 * kChannels >= ops::kCheapRecompute);
  EXPECT_EQ(Network(5, {}, relu, 1).kept_bytes, Network(5, false, relu, 1).kept_bytes);
  EXPECT_EQ(Network(5, {}, relu, 5).kept_bytes, Network(5, true, relu, 5).kept_bytes);
  EXPECT_LT(Network(5, true, relu, 5).kept_bytes, Network(5, false, relu, 5).kept_bytes);
  Network kept(5, false, relu, 5), unasked(5, {}, relu, 5);
  Gradients expected, received;
  backward(*kept.tape, kept.loss, expected);
  backward(*unasked.tape, unasked.loss, received);
  EXPECT_EQ(received.of, expected.of);
}

/// A dense layer of 16 bits whose float32 kernel is the leaf.
struct HalfDense {
  std::shared_ptr<Tape> tape = std::make_shared<Tape>();
  Tensor kernel = tape->watch(numbers({256, 512}, 4), 0);
  Tensor loss;
  size_t kept_bytes = 0;

  explicit HalfDense(Tensor (*cast)(const Tensor&, DType)) {
    const Tensor x = tape->watch(numbers({3, 256}, 5).astype(DType::bfloat16), 1);
    const size_t before = allocator_stats(Device{}).live_bytes;
    loss = ops::sum(ops::dense(x, cast(kernel, DType::bfloat16)));
    kept_bytes = allocator_stats(Device{}).live_bytes - before;
  }
};

TEST(Recompute, CastsOfLeavesAreMadeAgain) {
  HalfDense kept(ops::cast), made_again(ops::detail::cast_of_leaf);
  EXPECT_GE(kept.kept_bytes, made_again.kept_bytes + 256 * 512 * 2);
  Gradients expected, received;
  backward(*kept.tape, kept.loss, expected);
  backward(*made_again.tape, made_again.loss, received);
  EXPECT_EQ(received.of, expected.of);
  EXPECT_EQ(received.of.size(), 2u);
}

TEST(Recompute, ACastOfALeafThatWasWrittenSinceThrows) {
  HalfDense network(ops::detail::cast_of_leaf);
  network.kernel.copy_from(numbers({256, 512}, 6));
  Gradients sink;
  EXPECT_THROW(backward(*network.tape, network.loss, sink), StateError);
}

TEST(Recompute, ACastOfALeafHasItsDtypeOrIsTheLeaf) {
  auto tape = std::make_shared<Tape>();
  const Tensor leaf = tape->watch(numbers({2, 2}, 7), 0), vector = tape->watch(numbers({2}, 8), 1);
  EXPECT_EQ(ops::detail::cast_of_leaf(leaf, DType::float32).value_id(), leaf.value_id());
  EXPECT_EQ(ops::detail::cast_of_leaf(vector, DType::bfloat16).dtype(), DType::bfloat16);
  const Tensor untracked = ops::detail::cast_of_leaf(numbers({2, 2}, 7), DType::bfloat16);
  EXPECT_EQ(untracked.tape(), nullptr);
  EXPECT_EQ(untracked.dtype(), DType::bfloat16);
}

TEST(Recompute, LetsGoOnTheWay) {
  const size_t before = allocator_stats(Device{}).live_bytes;
  {
    Network recomputed(7, true);
    Gradients received;
    backward(*recomputed.tape, recomputed.loss, received);
    recomputed.x = Tensor();
    EXPECT_LT(allocator_stats(Device{}).live_bytes, before + 4096);
  }
}

TEST(Recompute, TwoWalksAndTheOtherWayOfDifferentiating) {
  Network kept(4, false), recomputed(4, true);
  Gradients expected, first, second;
  backward_keep(*kept.tape, kept.loss, expected);
  backward_keep(*recomputed.tape, recomputed.loss, first);
  backward_keep(*recomputed.tape, recomputed.loss, second);
  EXPECT_EQ(first.of, expected.of);
  EXPECT_EQ(second.of, expected.of);
  for (const bool record : {false, true}) {
    const DerivativeRequest request{.sources = {recomputed.x.value_id()},
                                    .ranges = {{0, recomputed.tape->entries().size()}},
                                    .record = record};
    const Tensors gradients = differentiate(*recomputed.tape, recomputed.loss, request);
    EXPECT_EQ(gradients[0].to_vector<float>(), expected.of[0]);
  }
}

/// One normalization behind another: to make the second again the first has to be there.
TEST(Recompute, OutOfRecomputedValues) {
  const auto gradients = [](bool recompute) {
    auto tape = std::make_shared<Tape>();
    const Tensor x = tape->watch(numbers({6, 5}, 2), 0), gamma = tape->watch(numbers({5}, 3), 1);
    const ops::BatchNormalizationOptions options{.recompute = recompute};
    const Tensor once = ops::detail::batch_normalization_train(x, gamma, {}, options).y;
    const Tensor twice = ops::detail::batch_normalization_train(once, gamma, {}, options).y;
    const Tensor loss = ops::sum(twice * twice * once);
    Gradients sink;
    backward(*tape, loss, sink);
    return sink.of;
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

}  // namespace
}  // namespace nyala
