// Static objects of the library are never destroyed: a model in a static object of the program may train in
// its destructor, which runs after the destructors of what was made later (tests/programs/train_at_exit.cpp).
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

/// Lines that make an object with a destructor: in a function, where a reference or a pointer would do, and
/// of a container at namespace scope. Numbers, flags and enumerations need none.
bool makes_mortal_object(const std::string& line) {
  static const std::regex local(
      R"(^\s+static (const )?(?!const |constexpr|inline|)"
      R"(bool |int |auto |size_t |char |u?int\d+_t |std::once_flag |std::atomic|std::array|CpuLevel |CURLcode |)"
      R"((detail::)?Undying<))"
      R"([\w:]+(<.*>)? \w+( = .*|;|\{.*)$)");
  static const std::regex local_with_arguments(R"(^\s+static const [A-Z]\w*(<.*>)? \w+\(.*$)");
  static const std::regex global(
      R"(^(static |inline )*const (std::(map|set|vector|string|unordered_\w+|multi\w+)(<.*>)?|Names))"
      R"( \w+( = .*|\{.*)$)");
  return std::regex_match(line, local) || std::regex_match(line, local_with_arguments) ||
         std::regex_match(line, global);
}

TEST(StaticObjects, OutliveThoseOfTheProgram) {
  for (const SourceFile& file : cpp_files()) {
    bool is_library = false;
    for (const char* folder : {"backend", "datasets", "strategies", "api", "models"})
      is_library = is_library || lies_in(file.path, folder);
    if (!is_library) continue;
    std::istringstream code(code_only(file.text));
    std::string line;
    for (int number = 1; std::getline(code, line); ++number)
      EXPECT_FALSE(makes_mortal_object(line)) << file.path << ":" << number << ": " << line
                                              << "\nwrite `static const T& name = *new T(...)`, which is "
                                                 "never destroyed, or `static const Undying<T> name`";
  }
}

TEST(StaticObjects, AreFoundInEveryForm) {
  for (const char* line :
       {"  static const std::map<std::string, int> table = {", "  static Registry all;", "  static Log log;",
        "  static Mutex mutex{Mutex::AtFork::is_waited};", "  static const NameTable<Loss> table(",
        "const std::set<int64_t> kSizes = {1, 2};"})
    EXPECT_TRUE(makes_mortal_object(line)) << line;
  for (const char* line :
       {"  static const std::map<std::string, int>& table = *new std::map<std::string, int>{",
        "  static auto* const made = new Registry;", "  static const int cores = count();",
        "  static const detail::Undying<Registry> all;", "  static std::once_flag said;",
        "const std::array<Variant, 8> kVariants = {{"})
    EXPECT_FALSE(makes_mortal_object(line)) << line;
}

}  // namespace
}  // namespace nyala::repo
