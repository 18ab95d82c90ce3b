#include <nyala/tests/repo/public_headers.h>

#include <regex>
#include <vector>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {

namespace {

std::vector<std::string> first_headers() {
  static const std::regex list(R"(set\(NYALA_PUBLIC_HEADERS ([^)]*)\))"), word(R"([^\s]+)");
  std::vector<std::string> headers;
  for (const SourceFile& file : text_files()) {
    std::smatch match;
    if (file.path != "cmake/NyalaPublicHeaders.cmake" || !std::regex_search(file.text, match, list)) continue;
    const std::string names = match[1];
    for (std::sregex_iterator it(names.begin(), names.end(), word), end; it != end; ++it)
      headers.push_back(it->str());
  }
  return headers;
}

std::set<std::string> reached() {
  std::set<std::string> found;
  std::vector<std::string> open = first_headers();
  while (!open.empty()) {
    const std::string path = open.back();
    open.pop_back();
    if (!found.insert(path).second) continue;
    for (const SourceFile& file : cpp_files()) {
      if (file.path != path) continue;
      for (const Include& include : includes_of(file))
        if (include.header.starts_with("nyala/")) open.push_back(include.header.substr(6));
    }
  }
  return found;
}

}  // namespace

const std::set<std::string>& public_headers() {
  static const std::set<std::string> headers = reached();
  return headers;
}

}  // namespace nyala::repo
