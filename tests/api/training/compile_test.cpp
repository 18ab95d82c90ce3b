// compile() where it must not take effect: inside a call that goes on, and where it throws.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::compile_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Tensor kX = Tensor::ones({12, 4}), kY = Tensor::zeros({12, 1});

/// Compiles anew inside the second step of what it is used in, and trains as before in the end.
struct Inside {
  Sequential model = Sequential({Input({4}), Dense(1)}, {.name = "net"});
  int calls = 0;

  void compile_once() {
    if (calls++ == 1) model.compile({.optimizer = "adam", .loss = "mae"});
  }
  void expect_refused(const std::string& where, const std::function<void()>& run) {
    calls = 0;
    EXPECT_THAT(error_text<StateError>(run),
                AllOf(HasSubstr("'net'"), HasSubstr("compile was called inside " + where),
                      HasSubstr("set_stop_training")));
    calls = 2;
    run();
    EXPECT_NE(model.optimizer().node().class_name(), "Adam");
  }
  FitConfig quiet() { return {.batch_size = 4, .verbose = 0}; }
};

TEST(CompileInside, ALossIsAnErrorOfFitAndEvaluate) {
  Inside test;
  test.model.compile({.optimizer = "sgd", .loss = [&](const Tensor& y, const Tensor& p) {
                        test.compile_once();
                        return ops::mean(ops::square(y - p), -1);
                      }});
  test.expect_refused("fit", [&] { test.model.fit(kX, kY, test.quiet()); });
  test.expect_refused("evaluate", [&] { test.model.evaluate(kX, kY, {.batch_size = 4, .verbose = 0}); });
}

TEST(CompileInside, ACallbackIsAnErrorOfFit) {
  Inside test;
  test.model.compile({.optimizer = "sgd", .loss = "mse"});
  FitConfig config = test.quiet();
  config.callbacks = {LambdaCallback({.on_train_batch_begin = [&](int64_t, Logs&) { test.compile_once(); }})};
  test.expect_refused("fit", [&] { test.model.fit(kX, kY, config); });
}

TEST(CompileInside, ALossOnTwoDevicesIsAnError) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const auto scope = strategy.scope();
  const Sequential model({Input({4}), Dense(1)});
  std::atomic<int> calls{0};
  model.compile({.optimizer = "sgd", .loss = [&](const Tensor& y, const Tensor& p) {
                   if (++calls > 2) model.compile({.optimizer = "adam", .loss = "mae"});
                   return ops::mean(ops::square(y - p), -1);
                 }});
  EXPECT_THAT(error_text<StateError>([&] { model.fit(kX, kY, {.batch_size = 4, .verbose = 0}); }),
              HasSubstr("compile"));
}

TEST(Compile, AfterFitTakesEffect) {
  const Sequential model({Input({4}), Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(kX, kY, {.verbose = 0});
  model.compile({.optimizer = "adam", .loss = "mae"});
  EXPECT_EQ(model.fit(kX, kY, {.verbose = 0})["loss"].size(), 1U);
  EXPECT_EQ(model.optimizer().node().class_name(), "Adam");
}

TEST(Compile, ThatThrowsLeavesTheModelCompiledAsBefore) {
  const Sequential first({Input({4}), Dense(1)}), second({Input({4}), Dense(1)});
  const Optimizer of_first = SGD(0.1);
  first.compile({.optimizer = of_first, .loss = "mse"});
  second.compile({.optimizer = "rmsprop", .loss = "mse"});
  EXPECT_THROW(second.compile({.optimizer = of_first, .loss = "mse"}), StateError);
  EXPECT_EQ(second.optimizer().node().class_name(), "RMSprop");
  EXPECT_EQ(second.fit(kX, kY, {.verbose = 0})["loss"].size(), 1U);
}

}  // namespace
}  // namespace nyala::compile_test
