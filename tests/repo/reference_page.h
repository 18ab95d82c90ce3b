#pragma once

#include <string>
#include <vector>

namespace nyala::repo {

/// docs/reference.md as the headers ask for: one line for every layer, op, loss, metric and so on, with its
/// options and their defaults and the first sentence of its comment. Headers hold all of it; nothing else is
/// written by hand.
std::string reference_page();

/// A class or function of the page.
struct ReferenceEntry {
  std::string name;
  std::string call;     // "Dense(int64_t units, {.units = 0, ...})"
  std::string comment;  // the first sentence, empty where there is none
};

/// The entries under one heading.
struct ReferenceGroup {
  std::string title;
  std::vector<ReferenceEntry> entries;
};

/// In the order of the page.
std::vector<ReferenceGroup> reference_groups();

}  // namespace nyala::repo
