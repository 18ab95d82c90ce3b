#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

constexpr const char* kListName = "all.h";

const SourceFile* find_file(const std::string& path) {
  for (const SourceFile& file : cpp_files()) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

/// The kinds of api/ whose every member a user can name.
const std::set<std::string> kKinds = {"api/layers",       "api/losses",      "api/metrics",
                                      "api/optimizers",   "api/schedules",   "api/initializers",
                                      "api/regularizers", "api/constraints", "api/callbacks"};

/// Folders whose headers are units of one kind.
bool needs_list(const std::string& folder) {
  return folder == "backend/ops" || folder == "models" || kKinds.contains(folder);
}

/// In backend/ops the headers that declare ops are units, elsewhere all but those in the room `base`; the
/// others are what units are made with.
bool is_unit(const SourceFile& file) {
  if (folder_of(file.path).ends_with("/base")) return false;
  return !lies_in(file.path, "backend/ops") || file.text.find("namespace nyala::ops {") != std::string::npos;
}

TEST(Lists, NameEveryHeaderOfTheirFolder) {
  std::set<std::string> folders;
  for (const SourceFile& file : cpp_files()) {
    for (std::string folder = folder_of(file.path); !folder.empty(); folder = folder_of(folder))
      if (is_header(file.path) && needs_list(folder)) folders.insert(folder);
  }
  for (const std::string& folder : folders) {
    const SourceFile* list = find_file(folder + "/" + kListName);
    ASSERT_NE(list, nullptr) << folder << " has no " << kListName;
    std::set<std::string> listed;
    for (const Include& include : includes_of(*list)) listed.insert(include.header);
    for (const SourceFile& file : cpp_files()) {
      const bool is_member = lies_in(file.path, folder) && is_header(file.path) && file.path != list->path;
      if (!is_member || !is_unit(file)) continue;
      EXPECT_TRUE(listed.contains("nyala/" + file.path)) << list->path << " does not name " << file.path;
    }
  }
}

/// What files make objects of by their class name, `using Layers = ClassList<...>`.
std::set<std::string> class_list(const SourceFile& list) {
  static const std::regex kList(R"(ClassList<([^>]*)>;)"), kName(R"(\w+)");
  std::smatch found;
  std::set<std::string> names;
  if (!std::regex_search(list.text, found, kList)) return names;
  const std::string inside = found[1];
  for (std::sregex_iterator name(inside.begin(), inside.end(), kName), end; name != end; ++name)
    names.insert(name->str());
  return names;
}

/// Handles that others derive from, and classes whose objects files hold in another form than a configuration
/// of their own.
const std::set<std::string> kInNoList = {
    "AttentionLayer", "RecurrentLayer",     "SequenceAttention", "Input",
    "Lambda",         "LossScaleOptimizer", "MultiOptimizer",
};

TEST(Lists, NameEveryClass) {
  static const std::regex kClass(
      R"(\nclass (\w+)(?: final)? : public )"
      R"((?:\w*Layer|SequenceAttention|Loss|Metric|Optimizer|LearningRate|\w*izer|Constraint) \{)");
  size_t count = 0;
  for (const std::string& folder : kKinds) {
    const SourceFile* list = find_file(folder + "/" + kListName);
    ASSERT_NE(list, nullptr) << folder;
    const std::set<std::string> listed = class_list(*list);
    for (const SourceFile& file : cpp_files()) {
      if (!lies_in(file.path, folder) || !is_header(file.path) || !is_unit(file) || listed.empty()) continue;
      for (std::sregex_iterator found(file.text.begin(), file.text.end(), kClass), end; found != end;
           ++found) {
        const std::string name = (*found)[1];
        ++count;
        EXPECT_TRUE(listed.contains(name) || kInNoList.contains(name))
            << list->path << ": no file makes a " << name << " (" << file.path << ")";
      }
    }
  }
  EXPECT_GT(count, 190u);  // or the expression above finds them no more
}

TEST(Lists, NameEveryKernel) {
  static const std::regex definition(R"(\n(?:static )?void (register_\w+)\(KernelTable&)");
  int found = 0;
  for (const SourceFile& file : cpp_files()) {
    if (!lies_in(file.path, "backend/kernels") || is_header(file.path)) continue;
    const std::string folder = folder_of(file.path);
    const bool is_list = file.path.ends_with("/list.cpp");
    const std::string kind = folder.substr(0, folder.find('/', std::string("backend/kernels/").size()));
    const SourceFile* list = find_file(is_list ? "backend/core/device_kind.h" : kind + "/list.cpp");
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), definition), end; it != end; ++it) {
      if (folder == "backend/kernels") continue;
      ASSERT_NE(list, nullptr) << folder << " has no list.cpp";
      const std::string named = is_list ? ".register_kernels = " + (*it)[1].str() : (*it)[1].str() + "(table";
      EXPECT_NE(list->text.find(named), std::string::npos)
          << list->path << " does not name " << (*it)[1] << " of " << file.path;
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

TEST(Lists, NameEveryStrategy) {
  const SourceFile* umbrella = find_file("nyala.h");
  ASSERT_NE(umbrella, nullptr);
  int found = 0;
  for (const SourceFile& file : cpp_files()) {
    if (!lies_in(file.path, "strategies") || file.text.find(" : public Strategy {") == std::string::npos)
      continue;
    EXPECT_NE(umbrella->text.find("<nyala/" + file.path + ">"), std::string::npos)
        << umbrella->path << " does not name " << file.path;
    ++found;
  }
  EXPECT_GT(found, 2);
}

TEST(Lists, NameEveryFormat) {
  static const std::regex definition(R"(\n(?:extern )?const Format (k\w+) =)");
  const SourceFile* list = find_file("api/saving/formats/list.cpp");
  ASSERT_NE(list, nullptr);
  const std::string asked = list->text.substr(list->text.find("std::vector<Format>{"));
  int found = 0;
  for (const SourceFile& file : cpp_files()) {
    std::smatch match;
    if (!lies_in(file.path, "api/saving/formats") || !std::regex_search(file.text, match, definition))
      continue;
    EXPECT_TRUE(std::regex_search(asked, std::regex("\\b" + match[1].str() + "\\b")))
        << list->path << " does not name " << match[1] << " of " << file.path;
    ++found;
  }
  EXPECT_GT(found, 3);
}

TEST(Lists, UmbrellaHeaderBringsEveryList) {
  const SourceFile* umbrella = find_file("nyala.h");
  ASSERT_NE(umbrella, nullptr);
  std::set<std::string> reached;
  std::vector<const SourceFile*> open = {umbrella};
  while (!open.empty()) {
    const SourceFile* file = open.back();
    open.pop_back();
    if (!reached.insert(file->path).second) continue;
    for (const Include& include : includes_of(*file)) {
      const SourceFile* next =
          include.header.starts_with("nyala/") ? find_file(include.header.substr(6)) : nullptr;
      if (next != nullptr) open.push_back(next);
    }
  }
  for (const SourceFile& file : cpp_files()) {
    const bool is_list = file.path.ends_with("/" + std::string(kListName));
    if (!is_list || !needs_list(folder_of(file.path))) continue;
    EXPECT_TRUE(reached.contains(file.path)) << "<nyala/nyala.h> does not bring " << file.path;
  }
}

}  // namespace
}  // namespace nyala::repo
