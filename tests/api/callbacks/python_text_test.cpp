#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/base/python_text.h>
#include <nyala/backend/core/error.h>

// The expected texts are what Python 3.11 prints.
namespace nyala {

using namespace nyala::detail;
namespace {

std::string formatted(const std::string& pattern, double loss, int64_t epoch = 3) {
  return format_path(pattern, {{"epoch", epoch}}, Logs{{"loss", loss}});
}

TEST(PythonText, Repr) {
  EXPECT_EQ(python_repr(0.0001), "0.0001");
  EXPECT_EQ(python_repr(1e-5), "1e-05");
  EXPECT_EQ(python_repr(1e16), "1e+16");
  EXPECT_EQ(python_repr(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(python_repr(1e15), "1000000000000000.0");
  EXPECT_EQ(python_repr(0.00010000000474974513), "0.00010000000474974513");
  EXPECT_EQ(python_repr(3.0), "3.0");
  EXPECT_EQ(python_repr(-0.0), "-0.0");
  EXPECT_EQ(python_repr(0.0), "0.0");
  EXPECT_EQ(python_repr(2.5e-7), "2.5e-07");
  EXPECT_EQ(python_repr(5e-324), "5e-324");
  EXPECT_EQ(python_repr(100.0), "100.0");
  EXPECT_EQ(python_repr(-12.25), "-12.25");
  EXPECT_EQ(python_repr(std::nan("")), "nan");
  EXPECT_EQ(python_repr(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(PythonText, Paths) {
  EXPECT_EQ(formatted("{epoch:02d}-{loss:.2f}.weights.h5", 0.12345, 7), "07-0.12.weights.h5");
  EXPECT_EQ(formatted("{epoch}", 0, 12), "12");
  EXPECT_EQ(formatted("{loss}", 1e-5), "1e-05");
  EXPECT_EQ(formatted("{loss}", 0.1), "0.1");
  EXPECT_EQ(formatted("{loss:8.3e}|", -12345.678), "-1.235e+04|");
  EXPECT_EQ(formatted("{epoch:>5}|{epoch:<5}|{epoch:^5}|{epoch:+d}", 0), "    3|3    |  3  |+3");
  EXPECT_EQ(formatted("{loss:08.3f}", -1.5), "-001.500");
  EXPECT_EQ(formatted("{loss:.1%}", 0.876), "87.6%");
  EXPECT_EQ(formatted("{{x}}{epoch:.1f}", 0, 2), "{x}2.0");
  EXPECT_EQ(formatted("{loss:*^9.2f}", 2.5), "**2.50***");
  EXPECT_EQ(formatted("{loss:g}", 1234567.0), "1.23457e+06");
  EXPECT_EQ(formatted("{loss:.3g}", 0.00001234), "1.23e-05");
  EXPECT_EQ(formatted("{loss}", std::nan("")), "nan");
  EXPECT_EQ(formatted("plain", 1), "plain");
}

TEST(PythonText, WhatPythonRefuses) {
  EXPECT_THROW(formatted("{val_loss}", 1), NotFoundError);
  EXPECT_THROW(formatted("{loss:5d}", 3), InvalidArgumentError);
  EXPECT_THROW(formatted("{loss", 3), InvalidArgumentError);
  EXPECT_THROW(formatted("loss}", 3), InvalidArgumentError);
  EXPECT_THROW(formatted("{loss:.2q}", 3), InvalidArgumentError);
}

TEST(LazyLogs, AreReadOnceAndOnlyWhenAsked) {
  int reads = 0;
  Logs logs([&](Logs& self) {
    ++reads;
    self.set("accuracy", 0.5);
    self.set("loss", 2.0);
  });
  Logs untouched = logs;
  EXPECT_EQ(reads, 0);
  logs.set("learning_rate", 0.1);
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(logs.begin()->first, "accuracy") << "what is set comes after what is read";
  EXPECT_EQ(logs.size(), 3u);
  EXPECT_EQ(logs["loss"], 2.0);
  EXPECT_EQ(reads, 1);
  EXPECT_TRUE(untouched.contains("loss"));
  EXPECT_EQ(reads, 2);
  EXPECT_FALSE(Logs().contains("loss"));
  try {
    logs["los"];
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'loss'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nyala
