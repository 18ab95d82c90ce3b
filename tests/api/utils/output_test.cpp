// Where bars, summaries and messages go, and what fit, evaluate and predict show where nothing is said.
#include <nyala/api/base/output.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/api/training/fit_support.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Tensor kX = counting(4), kY = counting(4, 2.0);

/// What `print` gives to an output that is a stream.
std::string printed_by(const std::function<void()>& print) {
  std::ostringstream stream;
  const OutputScope scope(stream);
  print();
  return stream.str();
}

std::string printed_by_stdout(const std::function<void()>& print) {
  ::testing::internal::CaptureStdout();
  print();
  return ::testing::internal::GetCapturedStdout();
}

TEST(Output, AStreamGetsBarsSummariesAndMessages) {
  Sequential net = still_line();
  const std::string other = printed_by_stdout([&] {
    const std::string text = printed_by([&] {
      net.summary();
      net.fit(kX, kY, {.epochs = 3, .callbacks = {EarlyStopping({.monitor = "loss", .verbose = 1})}});
      net.evaluate(kX, kY);
      net.predict(kX);
    });
    EXPECT_THAT(text, AllOf(HasSubstr("Model: \"line\""), HasSubstr("Total params"), HasSubstr("Epoch 1/3\n"),
                            HasSubstr("1/1 - "), HasSubstr("early stopping")));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\r")), Not(HasSubstr("\x1b"))));
  });
  EXPECT_EQ(other, "");
}

TEST(Output, AFunctionGetsWholeLines) {
  Sequential net = still_line();
  std::vector<std::string> pieces;
  {
    const OutputScope scope([&](std::string_view text) { pieces.emplace_back(text); });
    net.fit(kX, kY, {.epochs = 2});
    net.summary();
  }
  EXPECT_GE(pieces.size(), 5u);
  for (const std::string& piece : pieces) EXPECT_TRUE(piece.ends_with('\n')) << piece;
}

TEST(Output, TheFormerComesBackAndTheWayBackIsStandardOutput) {
  Sequential net = still_line();
  std::ostringstream first, second;
  EXPECT_TRUE(set_output(first).is_standard());
  const Output former = set_output(second);
  net.predict(kX);
  EXPECT_EQ(first.str(), "");
  EXPECT_NE(second.str(), "");
  set_output(former);
  net.predict(kX);
  EXPECT_NE(first.str(), "");
  set_output();
  EXPECT_THAT(printed_by_stdout([&] { net.predict(kX); }), HasSubstr("1/1 - "));
  EXPECT_THROW(Output(std::function<void(std::string_view)>()), InvalidArgumentError);
}

struct Mine {
  int number;
};

TEST(Output, WhatTheFunctionThrowsArrivesAsItIs) {
  Sequential net = still_line();
  {
    const OutputScope scope([](std::string_view) { throw Mine{7}; });
    try {
      net.fit(kX, kY);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Mine& mine) {
      EXPECT_EQ(mine.number, 7);
    }
    EXPECT_THROW(net.summary(), Mine);
    EXPECT_THROW(net.predict(kX), Mine);
  }
  EXPECT_EQ(net.fit(kX, kY, {.verbose = 0})["loss"].size(), 1u);
}

TEST(Output, TheFunctionMayPrintAndSetAnother) {
  Sequential net = still_line();
  std::ostringstream rest;
  int pieces = 0;
  const Output former = set_output([&](std::string_view) {
    if (++pieces == 1) net.summary();
    if (pieces == 2) set_output(rest);
  });
  net.fit(kX, kY, {.epochs = 2});
  set_output(former);
  EXPECT_EQ(pieces, 2);
  EXPECT_THAT(rest.str(), HasSubstr("Epoch 2/2"));
}

TEST(Output, NobodyWritesToAPlaceThatWasLeft) {
  const Output former = set_output([](std::string_view) {});
  std::atomic<bool> done = false;
  std::vector<std::jthread> printers;
  for (int i = 0; i < 2; ++i)
    printers.emplace_back([&] {
      while (!done) detail::print("abc\n");
    });
  for (int i = 0; i < 50; ++i) {
    std::string here;  // gone at the end of the round
    set_output([&here](std::string_view text) { here += text; });
    std::this_thread::yield();
    set_output([](std::string_view) {});
    for (size_t at = 0; at + 4 <= here.size(); at += 4) ASSERT_EQ(here.substr(at, 4), "abc\n");
  }
  done = true;
  printers.clear();
  set_output(former);
}

class DefaultVerbosity : public ::testing::Test {
 protected:
  ~DefaultVerbosity() override { set_default_verbosity(1); }
};

TEST_F(DefaultVerbosity, HoldsWhereNothingIsSaid) {
  Sequential net = still_line();
  EXPECT_EQ(default_verbosity(), 1);
  EXPECT_NE(printed_by([&] { net.predict(kX); }), "");
  set_default_verbosity(0);
  EXPECT_EQ(printed_by([&] {
              net.fit(kX, kY, {.epochs = 2});
              net.evaluate(kX, kY);
              net.predict(kX);
            }),
            "");
  EXPECT_NE(printed_by([&] { net.predict(kX, {.verbose = 1}); }), "");
  set_default_verbosity(2);
  EXPECT_THAT(printed_by([&] { net.fit(kX, kY, {.epochs = 2}); }), HasSubstr("Epoch 2/2\n1/1 - "));
  EXPECT_EQ(printed_by([&] { net.predict(kX, {.verbose = 0}); }), "");
  EXPECT_THROW(set_default_verbosity(3), InvalidArgumentError);
  EXPECT_THROW(set_default_verbosity(-1), InvalidArgumentError);
  EXPECT_EQ(default_verbosity(), 2);
}

TEST_F(DefaultVerbosity, ReplicasPrintWhatOneDevicePrints) {
  set_default_verbosity(2);
  const auto text_of = [](const Strategy& strategy) {
    const auto scope = strategy.scope();
    Sequential net = still_line();
    return printed_by([&] { net.fit(kX, kY, {.epochs = 2}); });
  };
  configure_logical_devices("cpu", 2);
  const std::string one = text_of(OneDeviceStrategy("cpu:0")), two = text_of(mirrored(2));
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 4);
  EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 4);
}

}  // namespace
}  // namespace nyala
