#include <nyala/tests/repo/reference_page.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include <nyala/tests/repo/declarations.h>
#include <nyala/tests/repo/public_headers.h>
#include <nyala/tests/repo/source_tree.h>

namespace nyala::repo {

namespace {

struct Kind {
  const char* title;
  const char* folder;
};

constexpr Kind kClasses[] = {{"Layers", "api/layers"},
                             {"Losses", "api/losses"},
                             {"Metrics", "api/metrics"},
                             {"Optimizers", "api/optimizers"},
                             {"Learning rate schedules", "api/schedules"},
                             {"Callbacks", "api/callbacks"},
                             {"Initializers", "api/initializers"},
                             {"Regularizers", "api/regularizers"},
                             {"Constraints", "api/constraints"}};
const std::set<std::string> kRoots = {"Layer",    "Loss",        "Metric",      "Optimizer", "LearningRate",
                                      "Callback", "Initializer", "Regularizer", "Constraint"};

std::string name_at_end(const std::string& text) {
  size_t begin = text.size();
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_'))
    --begin;
  return text.substr(begin);
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// The members of a class or struct: "int64_t units = 0", "explicit Dense(const Config& config)".
std::vector<std::string> members_of(const std::string& body) {
  static const std::regex access("^(public|private|protected):");
  std::vector<std::string> members;
  std::string member;
  int depth = 0;
  bool has_value = false;
  const auto finish = [&] {
    has_value = false;
    member = trimmed(std::regex_replace(trimmed(member), access, ""));
    if (!member.empty()) members.push_back(member);
    member.clear();
  };
  for (const char c : plain_code(body)) {
    if (c == ';' && depth == 0) {
      finish();
      continue;
    }
    member += c;
    if (c == '=' && depth == 0) has_value = true;
    if (c == '{' || c == '(') ++depth;
    if (c == '}' || c == ')') --depth;
    // The body of a function; an initial value goes on to the semicolon.
    if (c == '}' && depth == 0 && !has_value && member.find(") ") != std::string::npos) finish();
  }
  return members;
}

/// " = Size<N>::none()" as a user writes it, of a template that was named with `arguments`.
std::string as_written(std::string value, const std::string& arguments) {
  static const std::regex choice(R"(\w+ == (\w+::\w+) \? (.+) : (.+)$)"), size(R"(Size<N>\((\d+)\))"),
      none(R"(Size(?:<N>|[123]D)::none\(\))");
  std::smatch match;
  if (std::regex_search(value, match, choice))
    value = " = " + match[arguments.find(match[1].str()) != std::string::npos ? 2 : 3].str();
  return std::regex_replace(std::regex_replace(value, size, "$1"), none, "{}");
}

/// ".units = 0, .activation = {}" for a struct's fields.
std::string fields_of(const Declaration& config, const std::string& arguments) {
  std::string fields;
  for (const std::string& member : members_of(config.body)) {
    const size_t equals = member.find(" = ");
    const std::string left = member.substr(0, equals), name = name_at_end(left);
    const bool is_whole = std::ranges::count(left, '(') == std::ranges::count(left, ')');
    const bool is_field = !name.empty() && name != "const" && is_whole && left.size() > name.size() &&
                          !left.starts_with("using ") && !left.starts_with("static ") &&
                          !left.starts_with("friend ");
    if (!is_field || name == "names_required") continue;
    fields += (fields.empty() ? "." : ", .") + name;
    if (equals != std::string::npos) fields += as_written(member.substr(equals), arguments);
  }
  return fields;
}

/// Up to the first full stop that ends a sentence.
std::string first_sentence(const std::string& comment) {
  for (size_t at = 0; at < comment.size(); ++at) {
    const bool ends =
        comment[at] == '.' && (at + 1 == comment.size() || comment.compare(at + 1, 1, " ") == 0);
    if (!ends) continue;
    const bool goes_on = at + 2 < comment.size() && std::islower(static_cast<unsigned char>(comment[at + 2]));
    if (!goes_on) return comment.substr(0, at + 1);
  }
  return comment;
}

class Headers {
 public:
  Headers() {
    for (const SourceFile& file : cpp_files()) {
      if (!is_header(file.path) || lies_in(file.path, "tests")) continue;
      for (const Declaration& declaration : declarations_of(file.text)) {
        by_file_[file.path].push_back(declaration);
        remember(declaration);
      }
    }
  }

  /// What the headers below a folder declare, or one header.
  std::vector<Declaration> in(const std::string& place) const {
    std::vector<Declaration> all;
    for (const auto& [path, declarations] : by_file_)
      if (lies_in(path, place)) all.insert(all.end(), declarations.begin(), declarations.end());
    return all;
  }

  const std::map<std::string, std::vector<Declaration>>& by_file() const { return by_file_; }

  /// "{.units = 0, ...}"; empty for what is no struct with fields.
  std::string options(const std::string& space, const std::string& config) const {
    const auto alias = aliases_.find(config);
    const Alias meant = alias == aliases_.end() ? Alias{config, ""} : alias->second;
    const auto own = structs_.find(space + "::" + meant.name);
    const auto found = own != structs_.end() ? own : structs_.find("nyala::" + meant.name);
    if (found == structs_.end()) return "";
    const std::string fields = fields_of(found->second, meant.arguments);
    return fields.empty() ? "" : "{" + fields + "}";
  }

 private:
  /// `using Conv2DConfig = ConvConfig<2>`.
  struct Alias {
    std::string name, arguments;
  };

  void remember(const Declaration& d) {
    std::smatch match;
    static const std::regex alias(R"(^using (\w+) = (\w+)(<[^>]*>)?$)"),
        structure(R"(^(?:template <.*> )?struct (\w+))");
    if (std::regex_search(d.head, match, alias)) aliases_[match[1]] = {match[2], match[3]};
    if (std::regex_search(d.head, match, structure) && !d.body.empty())
      structs_[d.space + "::" + match[1].str()] = d;
  }

  std::map<std::string, std::vector<Declaration>> by_file_;
  std::map<std::string, Declaration> structs_;
  std::map<std::string, Alias> aliases_;
};

struct Class {
  std::string name, base;
  Declaration declaration;
};

std::map<std::string, Class> classes_of(const std::vector<Declaration>& declarations) {
  static const std::regex head(R"(^class (\w+)(?: final)? : public (?:\w+::)*(\w+))");
  std::map<std::string, Class> classes;
  for (const Declaration& d : declarations) {
    std::smatch match;
    if (std::regex_search(d.head, match, head)) classes[match[1]] = {match[1], match[2], d};
  }
  return classes;
}

bool is_entry(const Class& one, const std::map<std::string, Class>& all) {
  if (std::any_of(all.begin(), all.end(), [&](const auto& other) { return other.second.base == one.name; }))
    return false;
  std::string base = one.base;
  while (!kRoots.contains(base)) {
    const auto found = all.find(base);
    if (found == all.end()) return false;
    base = found->second.base;
  }
  return true;
}

/// What stands between the parentheses of the constructor with the most parameters before the options.
std::string positional(const Class& one) {
  const std::regex constructor("^(?:explicit )?" + one.name + R"(\((.*)\)(?: :.*)?$)");
  const std::regex options(R"((?:, |^)(?:const )?(?:\w*Config|Options)&? \w+(?: = \{\})?$)");
  std::string longest;
  for (const std::string& member : members_of(one.declaration.body)) {
    std::smatch match;
    if (!std::regex_search(member, match, constructor)) continue;
    const std::string parameters = std::regex_replace(match[1].str(), options, "");
    if (parameters.size() > longest.size()) longest = parameters;
  }
  return longest;
}

std::string config_of(const Class& one) {
  for (const std::string& member : members_of(one.declaration.body))
    if (member.starts_with("using Config = ")) return name_at_end(member);
  return one.name + "Config";
}

ReferenceGroup classes_group(const Headers& headers, const Kind& kind) {
  ReferenceGroup group{kind.title, {}};
  const std::map<std::string, Class> classes = classes_of(headers.in(kind.folder));
  for (const auto& [name, one] : classes) {
    if (!is_entry(one, classes)) continue;
    const std::string before = positional(one);
    const std::string options = headers.options(one.declaration.space, config_of(one));
    group.entries.push_back(
        {name, name + "(" + before + (before.empty() || options.empty() ? "" : ", ") + options + ")",
         first_sentence(one.declaration.comment)});
  }
  return group;
}

/// The options that a function takes, behind its declaration.
std::string options_behind(const Headers& headers, const Declaration& d) {
  static const std::regex parameter(R"((\w+(?:Config|Options))(?:<\w+>)?&? \w+(?: = \{\})?\)$)");
  std::smatch match;
  if (!std::regex_search(d.head, match, parameter)) return "";
  const std::string options = headers.options(d.space, match[1]);
  return options.empty() ? "" : " with " + options;
}

ReferenceGroup functions_group(const Headers& headers, const Kind& kind, const std::string& space,
                               const std::regex& head) {
  ReferenceGroup group{kind.title, {}};
  for (const Declaration& d : headers.in(kind.folder)) {
    std::smatch match;
    if (d.space != space || !std::regex_search(d.head, match, head)) continue;
    static const std::regex internal(R"(GradContext|Collectives\*|on_guarded_device|pillow_resize)");
    if (std::regex_search(d.head, internal)) continue;
    const std::string call = std::regex_replace(d.head, std::regex("^inline "), "");
    group.entries.push_back({match[1], call + options_behind(headers, d), first_sentence(d.comment)});
  }
  std::stable_sort(group.entries.begin(), group.entries.end(),
                   [](const ReferenceEntry& a, const ReferenceEntry& b) { return a.name < b.name; });
  return group;
}

/// The options that functions and strategies take.
ReferenceGroup options_group(const Headers& headers, const Kind& kind) {
  static const std::regex head(R"(^struct (\w+(?:Config|Variable))$)");
  ReferenceGroup group{kind.title, {}};
  for (const Declaration& d : headers.in(kind.folder)) {
    std::smatch match;
    if (!std::regex_search(d.head, match, head)) continue;
    const std::string options = headers.options(d.space, match[1]);
    if (!options.empty())
      group.entries.push_back({match[1], match[1].str() + options, first_sentence(d.comment)});
  }
  return group;
}

/// "nyala::datasets" -> "datasets::"; nothing for `nyala`.
std::string prefix_of(const std::string& space) {
  return space == "nyala" ? "" : space.substr(std::string("nyala::").size()) + "::";
}

std::set<std::string> names_on(const std::vector<ReferenceGroup>& groups) {
  std::set<std::string> names;
  for (const ReferenceGroup& group : groups)
    for (const ReferenceEntry& entry : group.entries) names.insert(entry.name);
  return names;
}

/// What the installed headers declare besides, outside of `detail`: a name that is not here is none of a
/// program's.
ReferenceGroup other_functions(const Headers& headers, const std::vector<ReferenceGroup>& groups) {
  static const std::regex function(
      R"(^(?:template <.*?> )?(?:constexpr |inline |\[\[\w+\]\] )*[\w:<>,&* ]*[\w>&*] (\w+)\()"),
      none(R"(^(class|struct|enum|using|extern|friend|static_assert)\b| operator|(^|::)detail(::|$)|\) = )");
  const std::set<std::string> named = names_on(groups);
  ReferenceGroup rest{"Functions", {}};
  for (const auto& [path, declarations] : headers.by_file()) {
    if (!public_headers().contains(path)) continue;
    for (const Declaration& d : declarations) {
      std::smatch match;
      if (!d.space.starts_with("nyala") || d.space == "nyala::ops" || std::regex_search(d.space, none) ||
          std::regex_search(d.head, none) || !std::regex_search(d.head, match, function) ||
          named.contains(match[1]))
        continue;
      rest.entries.push_back(
          {match[1], prefix_of(d.space) + match[1].str() + d.head.substr(match.position(1) + match.length(1)),
           first_sentence(d.comment)});
    }
  }
  std::stable_sort(rest.entries.begin(), rest.entries.end(),
                   [](const ReferenceEntry& a, const ReferenceEntry& b) { return a.name < b.name; });
  return rest;
}

/// What stands between backticks on the pages that are written by hand, word by word.
std::set<std::string> words_in_code() {
  static const std::regex code("`[^`\n]+`"), word(R"(\w+)");
  std::set<std::string> words;
  for (const SourceFile& file : text_files()) {
    if (!file.path.ends_with(".md") || !lies_in(file.path, "docs") || file.path == "docs/reference.md")
      continue;
    for (std::sregex_iterator span(file.text.begin(), file.text.end(), code), end; span != end; ++span) {
      const std::string text = span->str();
      for (std::sregex_iterator it(text.begin(), text.end(), word); it != end; ++it) words.insert(it->str());
    }
  }
  return words;
}

/// Names of the public functions of a class, as they stand there, each once.
std::vector<std::string> function_names(const std::string& name, const std::string& body) {
  static const std::regex hidden("\n ?(?:private|protected):"), generic("^template <.*?> "),
      none(R"(^(?:using|friend|struct|class|enum|requires|decltype)\b|\boperator\b|= delete|= default)");
  std::smatch match;
  const bool hides = std::regex_search(body, match, hidden);
  std::vector<std::string> functions;
  for (std::string member :
       members_of(hides ? body.substr(0, static_cast<size_t>(match.position())) : body)) {
    member = std::regex_replace(member, generic, "");
    const std::string function = name_at_end(member.substr(0, member.find('(')));
    const bool is_one = member.find('(') != std::string::npos && !std::regex_search(member, none) &&
                        !function.empty() && function != name && !function.ends_with("_") &&
                        std::islower(static_cast<unsigned char>(function[0]));
    if (is_one && std::ranges::find(functions, function) == functions.end()) functions.push_back(function);
  }
  return functions;
}

/// Classes that the pages speak of and no group has, with the names of their functions, and structs with
/// their fields.
ReferenceGroup other_classes(const Headers& headers, const std::vector<ReferenceGroup>& groups) {
  static const std::regex head(R"(^(?:template <.*?> )?(class|struct) (\w+)(?: final)?(?: :|$))");
  const std::set<std::string> spoken_of = words_in_code();
  std::set<std::string> named = names_on(groups);
  ReferenceGroup rest{"Classes", {}};
  for (const auto& [path, declarations] : headers.by_file()) {
    if (!public_headers().contains(path)) continue;
    for (const Declaration& d : declarations) {
      std::smatch match;
      const bool is_one = d.space.starts_with("nyala") && d.space.find("detail") == std::string::npos &&
                          !d.body.empty() && std::regex_search(d.head, match, head);
      if (!is_one || match[2].str().ends_with("Config") || match[2].str().ends_with("Node") ||
          !spoken_of.contains(match[2]) || !named.insert(match[2]).second)
        continue;
      const std::string name = match[2], options = match[1] == "struct" ? headers.options(d.space, name) : "";
      std::string functions;
      for (const std::string& function : function_names(name, d.body))
        functions += (functions.empty() ? " `" : ", `") + function + "`";
      rest.entries.push_back({name, prefix_of(d.space) + name + options,
                              first_sentence(d.comment) + (functions.empty() ? "" : functions + ".")});
    }
  }
  std::ranges::stable_sort(rest.entries, {}, &ReferenceEntry::name);
  return rest;
}

ReferenceGroup activations_group(const Headers& headers) {
  static const std::regex name(R"(^using ops::(\w+)$)");
  ReferenceGroup group{"Activations", {}};
  for (const Declaration& d : headers.in("api/activations")) {
    std::smatch match;
    if (std::regex_search(d.head, match, name))
      group.entries.push_back({match[1], "activations::" + match[1].str(), "`ops::" + match[1].str() + "`."});
  }
  return group;
}

}  // namespace

std::vector<ReferenceGroup> reference_groups() {
  const Headers headers;
  std::vector<ReferenceGroup> groups;
  for (const Kind& kind : kClasses) groups.push_back(classes_group(headers, kind));
  groups.push_back(activations_group(headers));
  groups.push_back(
      options_group(headers, {"Options of compile, fit, evaluate and predict", "api/model/config"}));
  groups.push_back(options_group(headers, {"Options of a progress bar", "api/utils/progress_bar.h"}));
  groups.push_back(options_group(
      headers, {"Options of an evaluator beside the training", "api/callbacks/sidecar_evaluator.h"}));
  groups.push_back(options_group(headers, {"Options of a function that is a loss", "api/losses/loss.h"}));
  groups.push_back(
      options_group(headers, {"Options of a metric's state", "api/metrics/base/stateful_metric.h"}));
  groups.push_back(options_group(headers, {"Options of strategies", "strategies"}));
  static const std::regex tensors(R"(^(?:inline )?[\w:<>, ]*Tensors?[\w<>, ]* (\w+)\()"),
      models(R"(^Model (\w+)\()"), sets(R"(^TrainTest (\w+)\((?!const \w+Set&))"),
      images(
          R"(^(?:Dataset|Tensor|void(?= save_img)|std::pair<Dataset, Dataset>|std::array<Dataset, 2>|\w*Datasets?) (\w+)\()");
  groups.push_back(functions_group(headers, {"Ops", "backend/ops"}, "nyala::ops", tensors));
  groups.push_back(functions_group(headers, {"Data sets", "datasets"}, "nyala::datasets", sets));
  groups.push_back(functions_group(headers, {"Images", "datasets/image"}, "nyala", images));
  groups.push_back(functions_group(headers, {"Applications", "models"}, "nyala::applications", models));
  groups.push_back(other_classes(headers, groups));
  groups.push_back(other_functions(headers, groups));
  return groups;
}

std::string reference_page() {
  std::string page =
      "# Reference\n\nEverything with a name, its options and their defaults. This page is made from the "
      "headers by "
      "`NYALA_WRITE_REFERENCE=1 build/release/tests/test_repo --gtest_filter='Reference.*'`; whoever wants "
      "to know "
      "more finds it in the header's comment.\n\n`Dense(int64_t units, {.units = 0, .use_bias = true})` "
      "means: `units` "
      "may be given by position, everything by name. `{}` is an empty value: none, or what the comment "
      "says.\n";
  for (const ReferenceGroup& group : reference_groups()) {
    page += "\n## " + group.title + "\n\n";
    for (const ReferenceEntry& entry : group.entries)
      page += "- `" + entry.call + "`" + (entry.comment.empty() ? "" : ": " + entry.comment) + "\n";
  }
  return page;
}

}  // namespace nyala::repo
