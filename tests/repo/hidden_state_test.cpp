// What a thread carries with it has one place, backend/runtime/context.h. The others below are no state of a
// program: what a mechanism remembers of its thread, or memory that is used again.
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

const std::map<std::string, const char*>& known() {
  static const auto& places = *new std::map<std::string, const char*>{
      {"backend/runtime/context.cpp", "the context itself"},
      {"backend/core/fork.cpp", "the thread's number"},
      {"backend/core/caught_error.cpp", "where the foreign exception that was thrown last comes from"},
      {"backend/runtime/thread_team.cpp", "how many threads libgomp keeps for this one"},
      {"backend/runtime/stack_room.cpp", "where the thread's stack ends"},
      {"backend/runtime/busy_cores.cpp", "how long the thread's teams had waited when it last looked"},
      {"backend/autograd/backward.cpp", "memory of the last backward pass"},
      {"backend/kernels/cpu/base/wide_runs.cpp", "memory for an image of 16-bit floats that is widened"},
      {"backend/kernels/cpu/onednn/onednn.cpp", "oneDNN's stream of the thread"},
      {"api/layers/base/layer.cpp", "where the last search among sublayers ended"},
      {"api/graph/graph.cpp", "what is left to destroy, so that long graphs need no recursion"},
      {"strategies/contexts.cpp", "memory of the replica context outside of strategies, filled at each call"},
  };
  return places;
}

TEST(HiddenState, LiesInTheContextOfTheThread) {
  static const std::regex of_a_thread(R"(\bthread_local\b|\bnew PerThread<|\bPerThread<.*>\s+\w+\s*[;{])");
  std::map<std::string, int> found;
  for (const SourceFile& file : cpp_files()) {
    bool is_library = false;
    for (const char* folder : {"backend", "files", "datasets", "strategies", "api", "models"})
      is_library = is_library || lies_in(file.path, folder);
    if (!is_library) continue;
    std::istringstream code(code_only(file.text));
    std::string line;
    for (int number = 1; std::getline(code, line); ++number) {
      if (line.find("hread") == std::string::npos || !std::regex_search(line, of_a_thread)) continue;
      ++found[file.path];
      EXPECT_TRUE(known().contains(file.path))
          << file.path << ":" << number << ": " << line
          << "\nwhat calls mean goes into ThreadContext, or through arguments; memory is named in this test";
    }
  }
  for (const auto& [path, what] : known()) EXPECT_GT(found[path], 0) << path << " has no " << what;
}

}  // namespace
}  // namespace nyala::repo
