#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/support/child_process.h>

namespace nyala {
namespace {

/// An environment variable of the processes that are started while this lives; null: none.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Environment() { set(before_ ? before_->c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value)
      ::setenv(name_, value, 1);
    else
      ::unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

int share_cores(const char* spin_count, const char* blocks_in_the_end) {
  const Environment spin("GOMP_SPINCOUNT", spin_count), wait("OMP_WAIT_POLICY", nullptr);
  return ChildProcess("share_cores", {blocks_in_the_end}).wait();
}

// libgomp's barriers are invisible to the thread sanitizer, and teams of one have no idle threads.
#ifndef __SANITIZE_THREAD__
TEST(BusyCores, IdleThreadsBlockWhereOthersUseTheCores) {
  if (::access("/proc/thread-self/schedstat", R_OK) != 0) GTEST_SKIP() << "this system counts no waiting";
  EXPECT_EQ(share_cores(nullptr, "1"), 0);
}
#endif

TEST(BusyCores, WhatTheUserChoseHolds) { EXPECT_EQ(share_cores("300000", "0"), 0); }

}  // namespace
}  // namespace nyala
