#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

/// The table of docs/architecture.md: each part and what it may include besides itself, written out whole.
const std::map<std::string, std::vector<std::string>> kMayInclude = {
    {"backend/core", {}},
    {"backend/runtime", {"backend/core"}},
    {"backend/ops", {"backend/core", "backend/runtime"}},
    {"backend/kernels", {"backend/core", "backend/runtime", "backend/ops"}},
    {"backend/autograd", {"backend/core", "backend/runtime", "backend/ops"}},
    {"backend/parameters", {"backend/core", "backend/runtime", "backend/ops", "backend/autograd"}},
    {"files", {"backend/core", "backend/runtime"}},
    {"datasets", {"backend", "files"}},
    {"strategies", {"backend", "files", "datasets"}},
    {"api", {"backend", "files", "datasets", "strategies"}},
    {"models", {"backend", "files", "datasets", "strategies", "api"}},
};

/// Folders that may include anything, the two headers at the root, and what a package of others lacks.
const std::vector<std::string> kFree = {"examples", "tests", "benchmarks", "tools",
                                        "nyala.h",  "fwd.h", "cmake/gloo"};

std::string part_of(const std::string& path) {
  for (const auto& [part, allowed] : kMayInclude) {
    if (lies_in(path, part)) return part;
  }
  return "";
}

bool is_free(const std::string& path) {
  return std::any_of(kFree.begin(), kFree.end(), [&](const auto& folder) { return lies_in(path, folder); });
}

bool may_include(const std::string& part, const std::string& target) {
  if (lies_in(target, part)) return true;
  const auto& allowed = kMayInclude.at(part);
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const auto& folder) { return lies_in(target, folder); });
}

TEST(IncludeDirections, EveryFileLiesInAKnownPart) {
  for (const SourceFile& file : cpp_files()) {
    EXPECT_TRUE(is_free(file.path) || !part_of(file.path).empty())
        << file.path << " lies in no part of the table";
  }
}

TEST(IncludeDirections, FollowTheTable) {
  std::map<std::string, std::map<std::string, int>> graph;
  for (const SourceFile& file : cpp_files()) {
    const std::string part = part_of(file.path);
    if (part.empty()) continue;
    for (const Include& include : includes_of(file)) {
      if (!include.header.starts_with("nyala/")) continue;
      const std::string target = include.header.substr(6);
      EXPECT_TRUE(may_include(part, target))
          << file.path << ":" << include.line << " (" << part << ") must not include " << target;
      const std::string target_part = part_of(target);
      if (target_part != part) ++graph[part][target_part.empty() ? target : target_part];
    }
  }
  std::cout << "include graph (includes across parts):\n";
  for (const auto& [part, targets] : graph) {
    std::cout << "  " << part << " ->";
    for (const auto& [target, count] : targets) std::cout << " " << target << " " << count;
    std::cout << "\n";
  }
}

TEST(IncludeDirections, OwnHeadersExistAndAreIncludedByTheirFullName) {
  for (const SourceFile& file : cpp_files()) {
    for (const Include& include : includes_of(file)) {
      EXPECT_FALSE(include.quoted) << file.path << ":" << include.line << " includes \"" << include.header
                                   << "\": write <nyala/...>";
      if (!include.header.starts_with("nyala/")) continue;
      EXPECT_TRUE(std::filesystem::exists(root() / include.header.substr(6)))
          << file.path << ":" << include.line << " includes " << include.header << ", which is not there";
    }
  }
}

/// From each header or folder to those that it includes, with an include that leads there.
using Graph = std::map<std::string, std::map<std::string, std::string>>;

void expect_no_cycles(const Graph& graph) {
  std::map<std::string, int> state;  // 1: being visited, 2: done
  std::vector<std::string> path;
  auto visit = [&](auto&& self, const std::string& node) -> void {
    if (state[node] == 2) return;
    state[node] = 1;
    if (const auto found = graph.find(node); found != graph.end())
      for (const auto& [next, why] : found->second) {
        path.push_back(why);
        if (state[next] == 1) {
          std::string circle;
          for (const std::string& step : path) circle += "\n  " + step;
          ADD_FAILURE() << "includes lead in a circle, which ends here:" << circle;
        } else {
          self(self, next);
        }
        path.pop_back();
      }
    state[node] = 2;
  };
  for (const auto& [node, targets] : graph) visit(visit, node);
}

/// The includes of our own headers, f(file, header).
template <class F>
void for_own_includes(F&& f) {
  for (const SourceFile& file : cpp_files())
    for (const Include& include : includes_of(file))
      if (include.header.starts_with("nyala/")) f(file.path, include.header.substr(6));
}

TEST(IncludeDirections, NoCyclesAmongHeaders) {
  Graph graph;
  for_own_includes([&](const std::string& file, const std::string& target) {
    if (is_header(file)) graph[file].emplace(target, file + " includes " + target);
  });
  expect_no_cycles(graph);
}

/// An op's gradient is made of other ops, so the rooms of backend/ops count as one.
std::string room_of(const std::string& path) {
  return lies_in(path, "backend/ops") ? std::string("backend/ops") : folder_of(path);
}

TEST(IncludeDirections, NoCyclesAmongFolders) {
  Graph graph;
  for_own_includes([&](const std::string& file, const std::string& target) {
    if (!part_of(file).empty() && room_of(target) != room_of(file))
      graph[room_of(file)].emplace(room_of(target), file + " includes " + target);
  });
  expect_no_cycles(graph);
}

TEST(IncludeDirections, HeadersSayPragmaOnce) {
  for (const SourceFile& file : cpp_files()) {
    if (!is_header(file.path)) continue;
    EXPECT_NE(file.text.find("#pragma once"), std::string::npos) << file.path;
  }
}

}  // namespace
}  // namespace nyala::repo
