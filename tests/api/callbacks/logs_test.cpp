// Logs of batches that a program keeps.
#include <cmath>
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {
namespace {

Tensor wave(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(0.7F * static_cast<float>(i) + 1.0F);
  return Tensor(values, shape);
}

Sequential net() {
  Sequential model({Input({4}), Dense(3, {.activation = "tanh"}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

/// What hooks read at once, and what they kept to be read later.
struct Seen {
  std::vector<double> at_once = {};
  std::vector<Logs> copies = {}, moved = {}, assigned = {};

  /// The copies are made before anything is read.
  void take(Logs& logs) {
    copies.push_back(logs);
    Logs assigned_later;
    assigned_later = logs;
    assigned.push_back(assigned_later);
    at_once.push_back(logs["loss"]);
    moved.push_back(std::move(logs));
  }
  void check(size_t count) const {
    ASSERT_EQ(at_once.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(copies[i]["loss"], at_once[i]);
      EXPECT_EQ(assigned[i]["loss"], at_once[i]);
      EXPECT_EQ(moved[i]["loss"], at_once[i]);
      if (i > 0) {
        EXPECT_NE(at_once[i], at_once[i - 1]);
      }
    }
  }
};

void expect_kept_logs_hold_their_batch(const std::function<Sequential()>& make) {
  Seen training, testing;
  std::optional<Sequential> model(make());
  LambdaCallback keep({.on_train_batch_end = [&](int64_t, Logs& logs) { training.take(logs); },
                       .on_test_batch_end = [&](int64_t, Logs& logs) { testing.take(logs); }});
  model->fit(wave({20, 4}), wave({20, 1}), {.batch_size = 4, .verbose = 0, .callbacks = {keep}});
  model->evaluate(wave({20, 4}), wave({20, 1}), {.batch_size = 4, .verbose = 0, .callbacks = {keep}});
  model.reset();
  training.check(5);
  testing.check(5);
}

TEST(Logs, OfABatchKeepTheirValuesAfterFitAndTheModel) { expect_kept_logs_hold_their_batch(net); }

TEST(Logs, OfABatchKeepTheirValuesOnTwoDevices) {
  configure_logical_devices("cpu", 2);
  expect_kept_logs_hold_their_batch([] {
    const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
    const auto scope = strategy.scope();
    return net();
  });
}

/// Nothing has read them when the hook throws: what it moved away must not point to the ended fit.
TEST(Logs, MovedOutOfAHookThatThrowsHoldValues) {
  std::vector<Logs> kept;
  const auto throws = [&](int64_t, Logs& logs) {
    kept.push_back(std::move(logs));
    throw std::runtime_error("enough");
  };
  const Sequential model = net();
  EXPECT_THROW(model.fit(wave({8, 4}), wave({8, 1}),
                         {.verbose = 0, .callbacks = {LambdaCallback({.on_train_batch_end = throws})}}),
               std::runtime_error);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_GT(kept[0]["loss"], 0.0);
}

TEST(Logs, AreReadOnlyWhereSomebodyAsks) {
  int reads = 0;
  const auto source = [&](Logs& logs) { logs.set("loss", ++reads); };
  {
    const Logs unread = Logs::of_now(source);
    Logs later(source), moved(std::move(later));
  }
  EXPECT_EQ(reads, 0);
  const Logs lazy = Logs(source);
  Logs lazy_copy = lazy;
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(lazy_copy["loss"], 1.0);
  EXPECT_EQ(lazy["loss"], 2.0);
  Logs now = Logs::of_now(source);
  const Logs copy = now;
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(copy["loss"], 3.0);
  EXPECT_EQ(now["loss"], 3.0);
  EXPECT_EQ(reads, 3);
}

}  // namespace
}  // namespace nyala
