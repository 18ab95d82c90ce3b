#include <nyala/tests/repo/forward_page.h>

#include <map>
#include <regex>
#include <set>

#include <nyala/tests/repo/declarations.h>
#include <nyala/tests/repo/public_headers.h>
#include <nyala/tests/repo/reference_page.h>
#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {

namespace {

std::set<std::string> words_of(const std::string& text) {
  static const std::regex word(R"(\w+)");
  std::set<std::string> words;
  for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) words.insert(it->str());
  return words;
}

/// Those of the pages, which say what is public.
std::set<std::string> words_of_pages() {
  std::set<std::string> words = words_of(reference_page());
  for (const SourceFile& file : text_files())
    if (folder_of(file.path) == "docs" && file.path.ends_with(".md")) words.merge(words_of(file.text));
  return words;
}

bool is_public(const std::string& name, const std::set<std::string>& words) {
  const bool is_config = name.ends_with("Config") && words.contains(name.substr(0, name.size() - 6));
  return words.contains(name) || is_config;
}

/// "class Dense;" by namespace and name.
std::map<std::string, std::map<std::string, std::string>> declarations_by_space() {
  static const std::regex head(
      R"(^(template <[^<>]*> )?(class|struct|enum class|enum) (\w+)(?: final)?( : (?:std::)?u?int\d+_t)?)"),
      is_internal(R"((^|::)detail(::|$))"), default_value(R"( = [\w:]+)");
  const std::set<std::string> words = words_of_pages();
  std::map<std::string, std::map<std::string, std::string>> spaces;
  for (const SourceFile& file : cpp_files()) {
    if (!public_headers().contains(file.path) || file.path == "fwd.h") continue;
    for (const Declaration& d : declarations_of(file.text)) {
      std::smatch match;
      if (!d.space.starts_with("nyala") || std::regex_search(d.space, is_internal) ||
          !std::regex_search(d.head, match, head) || !is_public(match[3], words))
        continue;
      const std::string text = std::regex_replace(match[1].str(), default_value, "") + match[2].str() + " " +
                               match[3].str() + match[4].str() + ";";
      if (d.head.find(match[3].str() + "<") == std::string::npos) spaces[d.space][match[3]] = text;
    }
  }
  return spaces;
}

}  // namespace

std::string forward_page() {
  std::string page =
      "#pragma once\n\n// Names only, for headers that mention Nyala's types: those that the pages below "
      "docs name.\n// Written by a test, as docs/reference.md is.\n\n#include <cstddef>\n#include "
      "<cstdint>\n";
  for (const auto& [space, declarations] : declarations_by_space()) {
    page += "\nnamespace " + space + " {\n\n";
    for (const auto& [name, text] : declarations) page += text + "\n";
    page += "\n}  // namespace " + space + "\n";
  }
  return page;
}

}  // namespace nyala::repo
