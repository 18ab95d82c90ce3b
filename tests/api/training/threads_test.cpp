#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/api/training/fit_support.h>

namespace nyala::threads_test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Tensor kX = counting(10), kY = counting(10, 2.0);

/// Runs `inside` on another thread in the middle of a fit.
template <class Function>
void during_fit(const Model& net, Function&& inside) {
  LambdaCallback other({.on_train_batch_end = [&](int64_t batch, Logs&) {
    if (batch == 0) std::thread(inside).join();
  }});
  net.fit(kX, kY, {.verbose = 0, .callbacks = {other}});
}

TEST(ModelThreadsTest, PredictFromSeveralThreadsAtOnce) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}});
  for (const bool mirrored : {false, true}) {
    const auto make = [] {
      clear_session();
      return Sequential({Dense(16, {.activation = "relu"}), Dense(3)});  // the first data builds it
    };
    const Model net = mirrored ? Model(two.scope(make)) : Model(make());
    std::vector<std::vector<float>> results(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < results.size(); ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 20; ++round) {
          const std::vector<float> result =
              net.predict(kX, {.batch_size = 4, .verbose = 0}).to_vector<float>();
          if (results[t].empty()) results[t] = result;
          EXPECT_EQ(result, results[t]);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
    EXPECT_EQ(results[0].size(), 30u);
  }
  configure_logical_devices("cpu", 1);
}

/// Its build waits until somebody lets it go on.
class HeldAtBuild : public LayerNode {
 public:
  std::promise<void> entered;
  std::future<void> go_on;
  std::string class_name() const override { return "HeldAtBuild"; }
  void build(Builder&, const Shapes&) override {
    entered.set_value();
    go_on.wait_for(std::chrono::seconds(20));
  }
  Tensor call(Call&, const Tensor& x) const override { return x; }
};

TEST(ModelThreadsTest, AModelThatIsBuiltHoldsUpNoOther) {
  const Layer layer = make_layer<HeldAtBuild>();
  auto& node = dynamic_cast<HeldAtBuild&>(layer.node());
  std::promise<void> other_is_done;
  node.go_on = other_is_done.get_future();
  const Sequential held({layer}), other({Dense(3)});
  std::thread first([&] { held.predict(kX, {.verbose = 0}); });
  node.entered.get_future().wait();
  auto second = std::async(std::launch::async, [&] { return other.predict(kX, {.verbose = 0}); });
  EXPECT_EQ(second.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  other_is_done.set_value();
  first.join();
  EXPECT_EQ(second.get().shape(), (Shape{10, 3}));
}

TEST(ModelThreadsTest, AnotherThreadMayNotUseAModelInFit) {
  const Sequential net = still_line();
  during_fit(net, [&] {
    EXPECT_THAT(error_text<StateError>([&] { net.fit(kX, kY, {.verbose = 0}); }),
                AllOf(HasSubstr("'line'"), HasSubstr("another thread runs fit")));
    EXPECT_THROW(net.predict(kX, {.verbose = 0}), StateError);
    EXPECT_THROW(net.predict_on_batch(kX), StateError);
    EXPECT_THROW(net.evaluate(kX, kY, {.verbose = 0}), StateError);
    EXPECT_THROW(net.train_on_batch(kX, kY), StateError);
    EXPECT_THROW(net.compile({.loss = "mse"}), StateError);
    EXPECT_THROW(net.set_weights(net.get_weights()), StateError);
  });
  EXPECT_NO_THROW(net.fit(kX, kY, {.verbose = 0}));
}

TEST(ModelThreadsTest, NobodyMayWriteWhileAnotherThreadPredicts) {
  const Sequential net = still_line();
  LambdaCallback other({.on_predict_batch_end = [&](int64_t, Logs&) {
    std::thread([&] {
      EXPECT_THAT(error_text<StateError>([&] { net.fit(kX, kY, {.verbose = 0}); }), HasSubstr("predict"));
      EXPECT_NO_THROW(net.predict(kX, {.verbose = 0}));
    }).join();
  }});
  net.predict(kX, {.verbose = 0, .callbacks = {other}});
  EXPECT_NO_THROW(net.fit(kX, kY, {.verbose = 0}));
}

TEST(ModelThreadsTest, WhatStandsInTheWayIsCalledByItsName) {
  const Sequential net = still_line();
  LambdaCallback other({.on_predict_batch_end = [&](int64_t, Logs&) {
    EXPECT_THAT(error_text<StateError>([&] { net.compile({.loss = "mse"}); }), HasSubstr("inside predict"));
    EXPECT_THAT(error_text<StateError>([&] { net.pop(); }), HasSubstr("pop was called inside predict"));
    std::thread([&] {
      EXPECT_THAT(error_text<StateError>([&] { net.add(Dense(1)); }),
                  HasSubstr("add was called while another thread runs predict"));
    }).join();
  }});
  net.predict(kX, {.verbose = 0, .callbacks = {other}});
  during_fit(net, [&] {
    EXPECT_THAT(error_text<StateError>([&] { net.add(Dense(1)); }), HasSubstr("another thread runs fit"));
    EXPECT_EQ(net.layers().size(), 1u);
    EXPECT_THAT(net.summary_text(), HasSubstr("line"));
  });
}

/// Calls each again and again on a thread of its own, for as long as the first goes on. StateErrors are what
/// threads in each other's way get; anything else fails.
void at_the_same_time(const std::vector<std::function<void()>>& calls, int rounds) {
  std::atomic<bool> done{false};
  const auto attempt = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const StateError& error) {
      EXPECT_THAT(error.what(), testing::AnyOf(HasSubstr("another thread runs"), HasSubstr("compile()")));
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < calls.size(); ++i)
    threads.emplace_back([&, i] {
      while (!done) attempt(calls[i]);
    });
  for (int i = 0; i < rounds; ++i) attempt(calls[0]);
  done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ModelThreadsTest, LayersAreAddedAndRemovedBesideOthersThatLook) {
  const Sequential net({Input({1}), Dense(1)});
  at_the_same_time({[&] {
                      net.add(Dense(1));
                      net.pop();
                    },
                    [&] { net.predict(kX, {.verbose = 0}); }, [&] { EXPECT_GE(net.layers().size(), 1u); },
                    [&] { EXPECT_FALSE(net.summary_text().empty()); }, [&] { net.get_layer(0); }},
                   300);
  EXPECT_NO_THROW(net.predict(kX, {.verbose = 0}));
}

TEST(ModelThreadsTest, AModelIsCompiledBesideOthersThatLook) {
  const Sequential net = still_line();
  at_the_same_time({[&] { net.compile({.optimizer = SGD(0.0), .loss = "mse", .metrics = {"mae"}}); },
                    [&] { net.fit(kX, kY, {.verbose = 0}); }, [&] { EXPECT_TRUE(net.compiled()); },
                    [&] { EXPECT_FALSE(net.summary_text().empty()); },
                    [&] { EXPECT_EQ(net.optimizer().learning_rate(), 0.0); }},
                   300);
  EXPECT_NO_THROW(net.fit(kX, kY, {.verbose = 0}));
}

TEST(ModelThreadsTest, AnErrorReleasesTheModel) {
  const Sequential net = still_line();
  EXPECT_THROW(net.fit(kX, counting(3), {.verbose = 0}), InvalidArgumentError);
  std::thread([&] { EXPECT_NO_THROW(net.fit(kX, kY, {.verbose = 0})); }).join();
}

Sequential around(const Layer& layer) {
  Sequential net({Input({1}), layer, Dense(1)});
  net.compile({.optimizer = SGD(0.0), .loss = "mse"});
  return net;
}

TEST(ModelThreadsTest, ModelsThatShareALayerExcludeEachOtherWhereOneWritesIt) {
  const Dense shared(1, {.name = "shared"});
  const Sequential a = around(shared), b = around(shared), outer = around(a), other = around(Dense(1));
  during_fit(a, [&] {
    EXPECT_THAT(error_text<StateError>([&] { b.fit(kX, kY, {.verbose = 0}); }),
                AllOf(HasSubstr("another thread runs fit"), HasSubstr("shares its layer 'shared'")));
    EXPECT_THROW(b.predict(kX, {.verbose = 0}), StateError);
    EXPECT_THROW(b.evaluate(kX, kY, {.verbose = 0}), StateError);
    EXPECT_THROW(outer.predict(kX, {.verbose = 0}), StateError);
    EXPECT_THROW(get_strategy().adopt(b), StateError);
    EXPECT_THAT(error_text<StateError>([&] { shared.set_weights(shared.get_weights()); }),
                AllOf(HasSubstr("layer 'shared'"), HasSubstr("of which it is a part")));
    EXPECT_NO_THROW(other.fit(kX, kY, {.verbose = 0}));
  });
  LambdaCallback while_it_predicts({.on_predict_batch_end = [&](int64_t, Logs&) {
    std::thread([&] {
      EXPECT_THROW(b.fit(kX, kY, {.verbose = 0}), StateError);
      EXPECT_THROW(shared.set_weights(shared.get_weights()), StateError);
      EXPECT_NO_THROW(b.evaluate(kX, kY, {.verbose = 0}));
      EXPECT_NO_THROW(b.predict(kX, {.verbose = 0}));
    }).join();
  }});
  a.predict(kX, {.verbose = 0, .callbacks = {while_it_predicts}});
  EXPECT_NO_THROW(b.fit(kX, kY, {.verbose = 0}));
}

TEST(ModelThreadsTest, ModelsOnOneFrozenLayerTrainAtOnce) {
  const Dense shared(1, {.name = "shared"});
  shared.set_trainable(false);
  const Sequential a = around(shared), b = around(shared);
  during_fit(a, [&] {
    EXPECT_NO_THROW(b.fit(kX, kY, {.verbose = 0}));
    EXPECT_THROW(shared.set_weights(shared.get_weights()), StateError);
  });
}

/// Different models are independent, also under one strategy.
TEST(ModelThreadsTest, DifferentModelsTrainAtOnce) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy two({.devices = {"cpu:0", "cpu:1"}});
  for (const bool mirrored : {false, true}) {
    std::vector<std::vector<double>> losses(3);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < losses.size(); ++t)
      threads.emplace_back([&, t] {
        const auto make = [] {
          Sequential net({Input({1}), Dense(4, {.kernel_initializer = "ones"}),
                          Dense(1, {.kernel_initializer = "ones"})});
          net.compile({.optimizer = Adam({.learning_rate = 0.01}), .loss = "mse"});
          return net;
        };
        const Model net = mirrored ? Model(two.scope(make)) : Model(make());
        losses[t] = net.fit(kX, kY, {.batch_size = 4, .epochs = 10, .verbose = 0, .shuffle = false})["loss"];
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(losses[1], losses[0]);
    EXPECT_EQ(losses[2], losses[0]);
    EXPECT_LT(losses[0].back(), losses[0].front());
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace

}  // namespace nyala::threads_test
