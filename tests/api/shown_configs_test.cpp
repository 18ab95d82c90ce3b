// A visitor that changes nothing leaves a Config's bytes alone: files are written, and models cloned, from
// configurations that other threads use at the same time. Each Config of the lists lies in memory that nobody
// may write to while it is shown.
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/base/class_name.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/schedules/all.h>
#include <nyala/tests/support/forked.h>

namespace nyala::testing {
namespace {

/// Pages that hold one object and are left to the process' end.
template <class Config>
class Pages {
 public:
  Pages() : memory_(::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    config = new (memory_) Config();
  }
  bool forbid_writing() const { return ::mprotect(memory_, size(), PROT_READ) == 0; }

  Config* config;

 private:
  static size_t size() {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    return (sizeof(Config) + page - 1) / page * page;
  }
  void* memory_;
};

template <class Class>
void expect_only_read() {
  if constexpr (requires { typename Class::Config; }) {
    const ForkedEnd end = in_forked_child([] {
      const Pages<typename Class::Config> pages;
      ConfigWriter writer;
      if (!pages.forbid_writing()) return false;
      pages.config->fields(writer);
      return true;
    });
    EXPECT_TRUE(end.worked()) << detail::class_name_of<Class>() << ": signal " << end.signal << ", "
                              << end.text;
  }
}

template <class... Classes>
void expect_only_read(ClassList<Classes...>) {
  (expect_only_read<Classes>(), ...);
}

TEST(ShownConfigs, OfLayersAreOnlyRead) { expect_only_read(Layers{}); }
TEST(ShownConfigs, OfOtherObjectsAreOnlyRead) {
  expect_only_read(Losses{});
  expect_only_read(Metrics{});
  expect_only_read(Optimizers{});
  expect_only_read(Schedules{});
  expect_only_read(Initializers{});
  expect_only_read(Regularizers{});
  expect_only_read(Constraints{});
}

}  // namespace
}  // namespace nyala::testing
