#include <map>

#include <gtest/gtest.h>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/dense.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

namespace {

/// Remembers gradients, in the order in which they became final.
class RecordingSink final : public GradientSink {
 public:
  Tensor destination(int32_t leaf) override {
    ++asked[leaf];
    const auto place = places.find(leaf);
    return place == places.end() ? Tensor() : place->second;
  }
  void ready(int32_t leaf, const Tensor& gradient) override {
    order.push_back(leaf);
    gradients[leaf] = gradient.clone();
    dispatches[leaf] = dispatch_count();
  }
  std::vector<int32_t> order;
  std::map<int32_t, Tensor> gradients, places;
  std::map<int32_t, int> asked;
  std::map<int32_t, uint64_t> dispatches;
};

std::vector<float> values(const Tensor& x) { return x.to_vector<float>(); }

TEST(BackwardTest, GradientsOfAChain) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{2.0f, 3.0f}, 0), w = tape.watch(Tensor{5.0f, 7.0f}, 1);
  RecordingSink sink;
  backward(tape, ops::sum(x * w * w), sink);
  EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({25, 49}));
  EXPECT_EQ(values(sink.gradients[1]), std::vector<float>({20, 42}));
}

TEST(BackwardTest, ALeafIsReadyAfterItsLastUse) {
  Tape tape;
  const Tensor first = tape.watch(Tensor{1.0f}, 0), last = tape.watch(Tensor{1.0f}, 1);
  Tensor y = ops::exp(first);
  for (int i = 0; i < 10; ++i) y = y * 1.5;
  y = y * last;
  RecordingSink sink;
  const uint64_t before = dispatch_count();
  backward(tape, y, sink);
  EXPECT_EQ(sink.order, std::vector<int32_t>({1, 0}));
  EXPECT_GE(sink.dispatches[0] - sink.dispatches[1], 10u);
  EXPECT_LE(sink.dispatches[1] - before, 4u);
}

TEST(BackwardTest, ALeafUsedTwiceWaitsForBoth) {
  Tape tape;
  const Tensor w = tape.watch(Tensor{3.0f}, 4), x = tape.watch(Tensor{1.0f}, 9);
  const Tensor y = (x * w) * w;
  RecordingSink sink;
  backward(tape, y, sink);
  EXPECT_EQ(sink.order.size(), 2u);
  EXPECT_EQ(values(sink.gradients[4]), std::vector<float>({6}));
  EXPECT_EQ(values(sink.gradients[9]), std::vector<float>({9}));
}

TEST(BackwardTest, WatchingALeafAgainFindsTheSameValue) {
  Tape tape;
  const Tensor value{2.0f};
  const Tensor a = tape.watch(value, 0), b = tape.watch(value, 0);
  EXPECT_EQ(a.value_id(), b.value_id());
  RecordingSink sink;
  backward(tape, a * b, sink);
  EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({4}));
  EXPECT_EQ(sink.order.size(), 1u);
}

TEST(BackwardTest, UnusedLeavesGetZeros) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{2.0f}, 0);
  tape.watch(Tensor::zeros({2, 2}), 1);
  const Tensor side = tape.watch(Tensor{1.0f}, 2) * 3.0;  // used, but not on the way to the result
  RecordingSink sink;
  backward(tape, x * x, sink);
  EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({4}));
  EXPECT_EQ(values(sink.gradients[1]), std::vector<float>({0, 0, 0, 0}));
  EXPECT_EQ(values(sink.gradients[2]), std::vector<float>({0}));
  EXPECT_EQ(sink.order.front(), 1);
}

TEST(BackwardTest, GradientsAreWrittenToTheirDestination) {
  Tape tape;
  const Tensor a = tape.watch(Tensor{2.0f, 3.0f}, 0), b = tape.watch(Tensor{4.0f, 5.0f}, 1),
               c = tape.watch(Tensor{1.0f}, 2);
  RecordingSink sink;
  for (int32_t leaf = 0; leaf < 3; ++leaf) sink.places[leaf] = Tensor::full({leaf == 2 ? 1 : 2}, 99);
  backward(tape, ops::sum(a + a * b), sink);
  EXPECT_EQ(values(sink.places[0]), std::vector<float>({5, 6}));
  EXPECT_EQ(values(sink.places[1]), std::vector<float>({2, 3}));
  EXPECT_EQ(values(sink.places[2]), std::vector<float>({0}));
  for (int32_t leaf = 0; leaf < 3; ++leaf) EXPECT_EQ(sink.asked[leaf], 1);
}

/// The gradient that two branches share must not be changed by what one of them adds to it.
TEST(BackwardTest, SharedGradientsAreNotOverwritten) {
  Tape tape;
  const Tensor a = tape.watch(Tensor{1.0f}, 0), b = tape.watch(Tensor{2.0f}, 1);
  const Tensor sum = a + b;  // both get the same gradient tensor
  const Tensor y = sum * 2.0 + a * 10.0 + sum;
  RecordingSink sink;
  backward(tape, y, sink);
  EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({13}));
  EXPECT_EQ(values(sink.gradients[1]), std::vector<float>({3}));
}

TEST(BackwardTest, TheSeedScales) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{1.0f, 2.0f}, 0);
  RecordingSink sink;
  const Tensor seed{10.0f, 100.0f};
  backward(tape, x * x, sink, seed);
  EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({20, 400}));
  EXPECT_EQ(values(seed), std::vector<float>({10, 100}));
}

TEST(BackwardTest, AWatchedResult) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{5.0f}, 0);
  RecordingSink sink;
  backward(tape, x, sink);
  EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({1}));
}

TEST(BackwardTest, BackwardClearsTheTape) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{1.0f}, 0);
  const Tensor y = x * 2.0;
  RecordingSink sink;
  backward(tape, y, sink);
  EXPECT_TRUE(tape.entries().empty());
  EXPECT_EQ(x.tape(), nullptr);
  EXPECT_THROW(backward(tape, y, sink), StateError);
}

TEST(BackwardTest, BackwardKeepCanWalkTwice) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{3.0f}, 0);
  const Tensor y = x * x;
  RecordingSink first, second;
  backward_keep(tape, y, first);
  backward_keep(tape, y, second);
  EXPECT_EQ(values(first.gradients[0]), values(second.gradients[0]));
}

TEST(BackwardTest, KeptTensorsAreReleasedOnTheWay) {
  Tape tape;
  const Tensor x = tape.watch(Tensor::zeros({1000}), 0);
  const size_t before = allocator_stats(Device{}).live_bytes;
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = ops::exp(y);
  const Tensor loss = ops::sum(y);
  y = Tensor();
  EXPECT_GE(allocator_stats(Device{}).live_bytes, before + 40'000);
  RecordingSink sink;
  backward(tape, loss, sink);
  EXPECT_LT(allocator_stats(Device{}).live_bytes, before + 10'000);
}

TEST(BackwardTest, ProductsKeepTheirOutputOnlyForAFusedActivation) {
  const Tensor x = Tensor::zeros({4, 8, 8, 16});
  const auto kept = [&](ops::Activation activation, bool dense) {
    Tape tape;
    const Tensor kernel = tape.watch(dense ? Tensor::zeros({16, 64}) : Tensor::zeros({1, 1, 16, 64}), 0);
    const size_t before = allocator_stats(Device{}).live_bytes;
    const Tensor loss = ops::sum(dense ? ops::dense(x, kernel, {}, activation)
                                       : ops::conv2d(x, kernel, {}, {.activation = activation}));
    return allocator_stats(Device{}).live_bytes - before;
  };
  constexpr size_t kOutput = 4 * 8 * 8 * 64 * sizeof(float);
  for (const bool dense : {false, true}) {
    EXPECT_LT(kept(ops::Activation::linear, dense), 4096u);
    EXPECT_GE(kept(ops::Activation::relu, dense), kOutput);
  }
}

TEST(BackwardTest, AFactorIsKeptOnlyForTheGradientOfAnother) {
  const Tensor x = Tensor::full({64, 64}, 2.0), y = Tensor::full({64, 64}, 3.0);
  constexpr size_t kBytes = 64 * 64 * sizeof(float);
  using Product = Tensor (*)(const Tensor&, const Tensor&);
  for (const Product product : {
           Product([](const Tensor&a, const Tensor&b) { return a * b; }),
           Product([](const Tensor&a, const Tensor&b) { return ops::matmul(a, b); }),
           Product([](const Tensor&a, const Tensor&b) { return ops::dense(a, b); }),
       }) {
    const auto kept = [&](bool both) {
      Tape tape;
      const Tensor leaf = tape.watch(x, 0), weights = both ? tape.watch(y, 1) : y;
      const size_t before = allocator_stats(Device{}).live_bytes;
      Tensor factor = leaf + 1.0;
      const Tensor loss = ops::sum(product(factor, weights));
      factor = Tensor();
      const size_t bytes = allocator_stats(Device{}).live_bytes - before;
      RecordingSink sink;
      backward(tape, loss, sink);
      EXPECT_FALSE(values(sink.gradients[0]).empty());
      EXPECT_EQ(sink.gradients.count(1), both ? 1u : 0u);
      return bytes;
    };
    EXPECT_LT(kept(false), 4096u);
    EXPECT_GE(kept(true), kBytes);
  }
}

TEST(TapeTest, FindsTheEntryThatMadeAValue) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{1.0f}, 0);
  EXPECT_EQ(tape.maker_of(x.value_id()), nullptr);
  const Tensor y = ops::exp(x), late = tape.watch(Tensor{3.0f}, 1), z = ops::log(late), both = y * z;
  EXPECT_EQ(tape.maker_of(x.value_id()), nullptr);
  EXPECT_EQ(tape.maker_of(late.value_id()), nullptr);
  EXPECT_EQ(tape.maker_of(y.value_id()), &tape.entries()[0]);
  EXPECT_EQ(tape.maker_of(z.value_id()), &tape.entries()[1]);
  EXPECT_EQ(tape.maker_of(both.value_id()), &tape.entries()[2]);
}

TEST(TapeTest, RecordsOnlyWhatIsTracked) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{1.0f}, 0), constant{2.0f};
  EXPECT_EQ((constant * 2.0).tape(), nullptr);
  EXPECT_EQ((x * constant).tape(), &tape);
  EXPECT_EQ((x.detached() * 2.0).tape(), nullptr);
  EXPECT_EQ(ops::greater(x, constant).tape(), nullptr);
  EXPECT_EQ(tape.entries().size(), 1u);
  tape.recording = false;
  EXPECT_EQ((x * 2.0).tape(), nullptr);
}

TEST(TapeTest, TensorsOutliveTheirTape) {
  Tensor x;
  {
    Tape tape;
    x = tape.watch(Tensor{1.0f}, 0) * 2.0;
    EXPECT_EQ(x.tape(), &tape);
  }
  EXPECT_EQ(x.tape(), nullptr);
  Tape other;
  EXPECT_EQ(x.tape(), nullptr);
  EXPECT_EQ(values(x), std::vector<float>({2}));
}

TEST(TapeTest, TwoTapesDoNotMix) {
  Tape a, b;
  const Tensor x = a.watch(Tensor{1.0f}, 0), y = b.watch(Tensor{1.0f}, 0);
  EXPECT_THROW(x + y, StateError);
  RecordingSink sink;
  EXPECT_THROW(backward(a, y * 2.0, sink), StateError);
}

TEST(TapeTest, AClearedTapeStartsAgain) {
  Tape tape;
  for (int round = 0; round < 3; ++round) {
    const Tensor x = tape.watch(Tensor{static_cast<float>(round)}, 0);
    RecordingSink sink;
    backward(tape, x * x, sink);
    EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({2.0f * static_cast<float>(round)}));
  }
}

TEST(TapeTest, IntegersAndCastsCutTheGradient) {
  Tape tape;
  const Tensor x = tape.watch(Tensor{1.5f, 2.5f}, 0);
  const Tensor whole = ops::cast(ops::cast(x, DType::int32), DType::float32);
  RecordingSink sink;
  backward(tape, x * whole, sink);
  EXPECT_EQ(values(sink.gradients[0]), std::vector<float>({1, 2}));
}

}  // namespace

}  // namespace nyala
