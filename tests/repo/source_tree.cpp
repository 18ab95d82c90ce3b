#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string> kFolders = {"backend",  "datasets", "strategies", "api",   "models",
                                           "examples", "tests",    "benchmarks", "tools", "scripts",
                                           "cmake",    "docs",     ".ci"};
const std::set<std::string> kCppExtensions = {".h", ".cpp", ".cu", ".cuh"};
const std::set<std::string> kTextExtensions = {".h",  ".cpp", ".cu",   ".cuh", ".md",  ".txt",  ".cmake",
                                               ".in", ".sh",  ".json", ".py",  ".tsv", ".supp", ""};

SourceFile read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return {fs::relative(path, root()).generic_string(), std::move(text)};
}

std::vector<SourceFile> collect(const std::set<std::string>& extensions) {
  std::vector<SourceFile> files;
  auto add = [&](const fs::directory_entry& entry) {
    const bool wanted = entry.is_regular_file() && extensions.contains(entry.path().extension().string());
    if (wanted && entry.file_size() < (4u << 20)) files.push_back(read(entry.path()));
  };
  for (const auto& entry : fs::directory_iterator(root())) add(entry);
  for (const std::string& folder : kFolders) {
    if (!fs::exists(root() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
      if (entry.path().string().find("__pycache__") == std::string::npos) add(entry);
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

/// Blanks [begin, end) but keeps its line breaks.
void blank(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

size_t end_of_raw_string(const std::string& text, size_t quote) {
  const size_t open = text.find('(', quote);
  if (open == std::string::npos) return text.size();
  const std::string closing = ")" + text.substr(quote + 1, open - quote - 1) + "\"";
  const size_t found = text.find(closing, open);
  return found == std::string::npos ? text.size() : found + closing.size();
}

size_t end_of_literal(const std::string& text, size_t quote) {
  for (size_t i = quote + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[quote] || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

size_t end_of_directive(const std::string& text, size_t hash) {
  size_t end = text.find('\n', hash);
  while (end != std::string::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return end == std::string::npos ? text.size() : end;
}

bool starts_line(const std::string& text, size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) --at;
  return at == 0 || text[at - 1] == '\n';
}

/// The end of the token at `at` if it is one to blank, else `at`.
size_t end_of_blankable(const std::string& text, size_t at) {
  const char c = text[at];
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  const char before = at > 0 ? text[at - 1] : '\0';
  if (c == '/' && next == '/') return std::min(text.find('\n', at), text.size());
  if (c == '/' && next == '*') return std::min(text.find("*/", at + 2), text.size() - 2) + 2;
  if (c == '"') return before == 'R' ? end_of_raw_string(text, at) : end_of_literal(text, at);
  // An apostrophe after a digit or letter separates digits (1'000) or ends a prefix (u8'x'); only the first
  // is common.
  if (c == '\'' && !std::isalnum(static_cast<unsigned char>(before))) return end_of_literal(text, at);
  if (c == '#' && starts_line(text, at)) return end_of_directive(text, at);
  return at;
}

}  // namespace

fs::path root() { return fs::path(NYALA_SOURCE_DIR); }

const std::vector<SourceFile>& cpp_files() {
  static const std::vector<SourceFile> files = collect(kCppExtensions);
  return files;
}

const std::vector<SourceFile>& text_files() {
  static const std::vector<SourceFile> files = collect(kTextExtensions);
  return files;
}

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  std::vector<Include> includes;
  size_t begin = 0;
  for (int line = 1; begin < file.text.size(); ++line) {
    const size_t end = std::min(file.text.find('\n', begin), file.text.size());
    std::smatch match;
    const std::string content = file.text.substr(begin, end - begin);
    if (std::regex_search(content, match, pattern)) includes.push_back({match[2], match[1] == "\"", line});
    begin = end + 1;
  }
  return includes;
}

std::string code_only(const std::string& text) {
  std::string code = text;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_blankable(text, at);
    blank(code, at, end);
    at = std::max(end, at + 1);
  }
  return code;
}

int count_lines(const std::string& text) {
  const auto breaks = std::count(text.begin(), text.end(), '\n');
  return static_cast<int>(breaks) + (text.empty() || text.back() == '\n' ? 0 : 1);
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

bool is_header(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cuh"); }

}  // namespace nyala::repo
