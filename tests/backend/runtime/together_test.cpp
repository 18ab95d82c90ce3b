#include <atomic>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <nyala/backend/core/caught_error.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/together.h>

namespace nyala {
namespace {

TEST(RunTogether, ThrowsTheErrorOfTheLowestIndex) {
  for (const size_t first : {size_t{0}, size_t{1}, size_t{3}}) {
    std::atomic<int> ended{0};
    try {
      run_together(4, [&](size_t i) {
        if (i >= first) throw std::runtime_error(std::to_string(i));
        ++ended;
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::to_string(first));
    }
    EXPECT_EQ(ended, static_cast<int>(first));
  }
  int calls = 0;
  run_together(1, [&](size_t) { ++calls; });  // nothing is left of it
  EXPECT_EQ(calls, 1);
}

// As a loss of the program's own throws in a step of several replicas.
TEST(RunTogether, AForeignExceptionKeepsItsPlace) {
  try {
    run_together(2, [](size_t i) {
      if (i == 0) return;
      CaughtError inner;
      try {
        throw std::runtime_error("no luck");
      } catch (...) {
        inner.keep("replica 1: ");
      }
      inner.rethrow();
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no luck");
    EXPECT_EQ(error_place(), "replica 1: ");
  }
}

}  // namespace
}  // namespace nyala
