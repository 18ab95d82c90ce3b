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

/// Folders that may include anything, and the two headers at the root.
const std::vector<std::string> kFree = {"examples", "tests", "benchmarks", "tools", "nyala.h", "fwd.h"};

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

TEST(IncludeDirections, NoCyclesAmongHeaders) {
  std::map<std::string, std::vector<std::string>> edges;
  for (const SourceFile& file : cpp_files()) {
    if (!is_header(file.path)) continue;
    for (const Include& include : includes_of(file)) {
      if (include.header.starts_with("nyala/")) edges[file.path].push_back(include.header.substr(6));
    }
  }
  std::map<std::string, int> state;  // 1: being visited, 2: done
  auto visit = [&](auto&& self, const std::string& header) -> void {
    if (state[header] == 2) return;
    ASSERT_NE(state[header], 1) << header << " includes itself through other headers";
    state[header] = 1;
    for (const std::string& next : edges[header]) self(self, next);
    state[header] = 2;
  };
  std::vector<std::string> headers;
  for (const auto& [header, targets] : edges) headers.push_back(header);
  for (const std::string& header : headers) visit(visit, header);
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Folder to folder, with an include that leads there. An op's gradient is made of other ops, so the rooms of
/// backend/ops count as one.
using Folders = std::map<std::string, std::map<std::string, std::string>>;

Folders folder_graph() {
  const auto room = [](const std::string& path) {
    return lies_in(path, "backend/ops") ? std::string("backend/ops") : folder_of(path);
  };
  Folders graph;
  for (const SourceFile& file : cpp_files()) {
    if (part_of(file.path).empty()) continue;
    for (const Include& include : includes_of(file)) {
      if (!include.header.starts_with("nyala/")) continue;
      const std::string target = include.header.substr(6);
      if (room(target) != room(file.path)) graph[room(file.path)].emplace(room(target), file.path + " includes " + target);
    }
  }
  return graph;
}

TEST(IncludeDirections, NoCyclesAmongFolders) {
  const Folders graph = folder_graph();
  std::map<std::string, int> state;  // 1: being visited, 2: done
  std::vector<std::string> path;
  auto visit = [&](auto&& self, const std::string& folder) -> void {
    if (state[folder] == 2) return;
    state[folder] = 1;
    if (const auto found = graph.find(folder); found != graph.end())
      for (const auto& [next, why] : found->second) {
        path.push_back(why);
        if (state[next] == 1) {
          std::string circle;
          for (const std::string& step : path) circle += "\n  " + step;
          ADD_FAILURE() << "folders include each other in a circle, which ends here:" << circle;
        } else {
          self(self, next);
        }
        path.pop_back();
      }
    state[folder] = 2;
  };
  for (const auto& [folder, targets] : graph) visit(visit, folder);
}

TEST(IncludeDirections, HeadersSayPragmaOnce) {
  for (const SourceFile& file : cpp_files()) {
    if (!is_header(file.path)) continue;
    EXPECT_NE(file.text.find("#pragma once"), std::string::npos) << file.path;
  }
}

}  // namespace
}  // namespace nyala::repo
