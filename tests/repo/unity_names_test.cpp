// Tests of one folder are compiled together in release builds. Two that have the same name in an unnamed
// namespace do not compile then, or, where it names functions of other parameters, one may call the other's.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_word(text[i])) continue;
    if (i == 0 || !is_word(text[i - 1])) words.emplace_back();
    words.back() += text[i];
  }
  return words;
}

/// The part before the parameters or the value: what stands between < and > does not count.
std::string declarator_of(const std::string& head) {
  std::string out;
  int angles = 0;
  for (const char c : head) {
    if (angles == 0 && (c == '(' || c == '=' || c == '[')) break;
    angles += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (angles == 0 && c != '>') out += c;
  }
  return out;
}

/// What a declaration at namespace level names; empty for tests, and for members and operators, which belong
/// to a class.
std::string declared_name(const std::string& head) {
  std::vector<std::string> words = words_in(declarator_of(head));
  if (!words.empty() && words[0] == "template") words.erase(words.begin());
  if (words.empty()) return "";
  static const std::set<std::string> none = {"TEST",          "TEST_F",           "TEST_P",
                                             "TYPED_TEST",    "TYPED_TEST_SUITE", "INSTANTIATE_TEST_SUITE_P",
                                             "static_assert", "namespace",        "extern"};
  if (none.contains(words[0])) return "";
  if (words[0] == "using") return head.find('=') == std::string::npos ? "" : words.back();
  const bool is_type =
      words[0] == "struct" || words[0] == "class" || words[0] == "enum" || words[0] == "union";
  if (is_type && words.size() > 1) return words[1] == "class" ? words.at(2) : words[1];
  const std::string declarator = declarator_of(head);
  const size_t at = declarator.rfind(words.back());
  const bool is_member = at >= 2 && declarator.substr(at - 2, 2) == "::";
  return is_member || declarator.find("operator") != std::string::npos ? "" : words.back();
}

/// The names that a file declares at namespace level, with their named namespaces.
std::set<std::string> names_of(const std::string& code) {
  const std::string kOther = "{";
  std::set<std::string> names;
  std::vector<std::string> scopes;  // kOther for what is no namespace
  std::string head;
  int parentheses = 0;
  const auto in_namespace = [&] { return scopes.empty() || scopes.back() != kOther; };
  const auto take = [&] {
    std::string place;
    for (const std::string& scope : scopes) place += scope.empty() ? "" : scope + "::";
    if (const std::string name = declared_name(head); !name.empty()) names.insert(place + name);
    head.clear();
  };
  for (const char c : code) {
    parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '{') {
      const std::vector<std::string> words = words_in(head);
      const bool opens = in_namespace() && !words.empty() && words[0] == "namespace";
      if (in_namespace() && !opens && parentheses == 0) take();
      std::string name;
      for (size_t i = 1; opens && i < words.size(); ++i) name += (i > 1 ? "::" : "") + words[i];
      scopes.push_back(opens ? name : kOther);
      if (opens) head.clear();
    } else if (c == '}') {
      if (!scopes.empty()) scopes.pop_back();
      if (parentheses == 0) head.clear();
    } else if (in_namespace()) {
      if (c == ';' && parentheses == 0)
        take();
      else
        head += c;
    }
  }
  return names;
}

bool is_compiled_with_others(const std::string& path) {
  for (const char* alone : {"tests/attack", "tests/fuzz", "tests/install", "tests/programs", "tests/support",
                            "tests/models", "tests/conformance/ops"})
    if (lies_in(path, alone)) return false;
  return lies_in(path, "tests") && path.ends_with(".cpp") && !path.ends_with("_cases.cpp") &&
         !path.ends_with("_case.cpp");
}

TEST(UnityNames, AreFoundInCode) {
  const std::string code = code_only(
      "namespace nyala::a {\nnamespace {\nconstexpr int kOne[] = {1, 2};\nstruct Two { int inside = 0; };\n"
      "std::function<void(int)> three(const Four& x = {}) { int inside; return [] { g(); }; }\n"
      "template <class T>\nvoid five(T) {}\nenum class Six { x };\nusing Seven = int;\nusing std::swap;\n"
      "TEST(Eight, Nine) { f(); }\n}\nvoid Ten::eleven() {}\nstd::map<int, int> twelve;\n}\n");
  EXPECT_EQ(names_of(code),
            (std::set<std::string>{"nyala::a::Six", "nyala::a::Seven", "nyala::a::Two", "nyala::a::five",
                                   "nyala::a::kOne", "nyala::a::three", "nyala::a::twelve"}));
}

TEST(UnityNames, TestsOfAFolderShareNone) {
  std::map<std::string, std::string> owners;  // by folder and name
  for (const SourceFile& file : cpp_files()) {
    if (!is_compiled_with_others(file.path)) continue;
    for (const std::string& name : names_of(code_only(file.text))) {
      const auto [owner, is_new] = owners.emplace(folder_of(file.path) + " " + name, file.path);
      EXPECT_TRUE(is_new) << owner->second << " and " << file.path << " both have " << name
                          << ": put one of them into a namespace of its file's name";
    }
  }
}

}  // namespace
}  // namespace nyala::repo
