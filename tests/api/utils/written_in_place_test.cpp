// A gradient that needs what stood in bytes that were written since throws, whoever wrote and whatever stood
// there.
#include <cmath>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::written_in_place_test {

namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Floats = std::vector<float>;

/// The gradient of sum(w * x) in w, where `write` came between.
Floats gradient_after(const Tensor& x, const std::function<void()>& write) {
  const Variable w(Tensor({1, 2, 3}));
  GradientTape tape;
  const Tensor loss = ops::sum(w.value() * x);
  write();
  return tape.gradient(loss, Variables{w})[0].to_vector<float>();
}

TEST(WrittenInPlace, DataThatTheGradientNeeds) {
  const Tensor x({4, 5, 6}), other({7, 8, 9});
  const Floats host{7, 8, 9};
  EXPECT_EQ(gradient_after(x, [] {}), (Floats{4, 5, 6}));
  for (const std::function<void()>& write :
       std::vector<std::function<void()>>{[&] { x[0] = 7.0; }, [&] { x(slice(1, 3)) += 1.0; },
                                          [&] { x.copy_from(other); }, [&] { x.copy_from_host(host.data()); },
                                          [&] {
                                            x.reshape({3, 1})[2] = 1.0;
                                          }})
    EXPECT_THAT(
        [&] { gradient_after(x, write); },
        ThrowsMessage<StateError>(HasSubstr("of shape (3,), or a variable whose value it is, was written in "
                                            "place after the tape had recorded 'multiply'")));
}

TEST(WrittenInPlace, OtherBytesOfTheSameStorage) {
  const Tensor both = Tensor::arange(6).astype("float32").reshape({2, 3});
  const Tensor x = both.rows(0, 1).reshape({3});
  EXPECT_EQ(gradient_after(x, [&] { both[1] = 9.0; }), (Floats{0, 1, 2}));
  EXPECT_THROW(gradient_after(x, [&] { both(slice(), 2) = 9.0; }), StateError);
}

TEST(WrittenInPlace, ValuesThatTheGradientDoesNotNeed) {
  const Tensor x({4, 5, 6});
  const Variable w(Tensor({1, 2, 3}));
  GradientTape tape;
  const Tensor loss = ops::sum(w.value() + x);
  x[0] = 7.0;
  EXPECT_EQ(tape.gradient(loss, Variables{w})[0].to_vector<float>(), (Floats{1, 1, 1}));
}

TEST(WrittenInPlace, BehindATapeThatPauses) {
  const Tensor x({4, 5, 6});
  GradientTape tape;
  const Tensor w = tape.watch(Tensor({1, 2, 3}));
  const Tensor y = ops::exp(w), loss = ops::sum(y * x);
  {
    const auto paused = tape.stop_recording();
    y[0] = 1.0;  // what exp's gradient is made of
  }
  EXPECT_THROW(tape.gradient(loss, w), StateError);
}

TEST(WrittenInPlace, AVariablesOwnBytes) {
  const Variable w(Tensor({1, 2, 3}));
  GradientTape tape;
  const Tensor loss = ops::sum(ops::square(w.value()));
  {
    const auto paused = tape.stop_recording();
    w.value(0)[0] = 5.0;
  }
  EXPECT_THROW(tape.gradient(loss, Variables{w}), StateError);
}

class FrozenVariables : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 2); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

TEST_P(FrozenVariables, AreSeenToo) {
  const auto strategy = mirrored(GetParam());
  const auto scope = strategy.scope();
  const Variable w(Tensor({1, 2, 3})), v(Tensor({4, 5, 6}), {.trainable = false}),
      neighbour(Tensor({4, 5, 6}), {.trainable = false});
  const auto gradient = [&](const std::function<void()>& write) {
    Floats found;
    strategy.run([&](ReplicaContext& c) {
      GradientTape tape;
      const Tensor loss = ops::sum(w.value() * v.value());
      write();
      const Floats own = tape.gradient(loss, Variables{w})[0].to_vector<float>();
      if (c.replica_id_in_sync_group() == 0) found = own;
    });
    return found;
  };
  EXPECT_EQ(gradient([&] { neighbour.assign(1.0); }), (Floats{4, 5, 6}));
  EXPECT_THROW(gradient([&] { v.assign(1.0); }), StateError);
  EXPECT_THROW(gradient([&] { v.assign_add(1.0); }), StateError);
  const Tensor one = Tensor::from(std::vector<int32_t>{1});
  EXPECT_THROW(gradient([&] { v.scatter_update(one, Tensor({7})); }), StateError);
}

INSTANTIATE_TEST_SUITE_P(Replicas, FrozenVariables, ::testing::Values(1, 2));

/// More writes than are remembered one by one, all elsewhere.
TEST(WrittenInPlace, ManyWritesElsewhere) {
  const Tensor x({4, 5, 6}), noise = Tensor::zeros({2});
  const auto write = [&] {
    for (int i = 0; i < 5000; ++i) noise[i % 2] = i;
  };
  EXPECT_EQ(gradient_after(x, write), (Floats{4, 5, 6}));
}

/// A layer's state is written when the call ends, before a gradient is taken: it reads what the call read.
TEST(WrittenInPlace, AStatefulLayerInALoopOfOnesOwn) {
  const auto gradients = [](bool stateful) {
    set_random_seed(3);
    const Layer lstm = LSTM(2, {.stateful = stateful});
    const Tensor x = Tensor::arange(6).astype("float32").reshape({1, 3, 2});
    std::vector<Floats> found;
    for (int pass = 0; pass < 2; ++pass) {
      GradientTape tape;
      const Tensor loss = ops::sum(ops::square(lstm(x)));
      found.push_back(tape.gradient(loss, lstm.trainable_variables())[1].to_vector<float>());
    }
    return found;
  };
  const std::vector<Floats> fresh = gradients(false), kept = gradients(true);
  EXPECT_EQ(kept[0], fresh[0]);
  EXPECT_NE(kept[1], fresh[1]);  // begins with the state that the first pass left
}

}  // namespace

}  // namespace nyala::written_in_place_test
