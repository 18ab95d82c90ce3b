#include <nyala/tests/repo/declarations.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace nyala::repo {

namespace {

/// The end of the string or character literal that begins at `at`; `at` where there is none.
size_t skip_literal(const std::string& text, size_t at) {
  const char quote = text[at];
  if (quote != '"' && quote != '\'') return at;
  if (quote == '\'' && at > 0 && std::isdigit(static_cast<unsigned char>(text[at - 1]))) return at;  // 1'000
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
  return end;
}

size_t end_of_line(const std::string& text, size_t at) {
  const size_t end = text.find('\n', at);
  return end == std::string::npos ? text.size() : end;
}

/// Just behind the brace that closes the one at `open`.
size_t behind_braces(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text.compare(at, 2, "//") == 0) {
      at = end_of_line(text, at);
      continue;
    }
    at = skip_literal(text, at);
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return text.size();
}

bool begins(const std::string& text, const char* word) { return text.starts_with(word); }

class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  std::vector<Declaration> read() {
    while (at_ < text_.size()) step();
    return found_;
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      if (line_is_empty_) comment_.clear(), group_comment_.clear();
      line_is_empty_ = true;
      ++at_;
    } else if (c == ' ') {
      ++at_;
    } else if (c == '#') {
      at_ = end_of_line(text_, at_);
    } else if (text_.compare(at_, 2, "//") == 0) {
      read_comment();
    } else if (c == '}') {
      if (!spaces_.empty()) spaces_.pop_back();
      at_ = end_of_line(text_, at_);
    } else {
      line_is_empty_ = false;
      read_declaration();
    }
  }

  void read_comment() {
    const size_t end = end_of_line(text_, at_);
    const std::string line = text_.substr(at_, end - at_);
    if (begins(line, "///")) {
      if (!in_comment_) comment_.clear();
      if (!comment_.empty()) comment_ += ' ';
      comment_ += line.substr(std::min<size_t>(line.size(), 4));
      in_comment_ = true;
    }
    line_is_empty_ = false;
    at_ = end;
  }

  void read_declaration() {
    if (group_comment_.empty()) group_comment_ = comment_;
    const std::string comment = in_comment_ ? comment_ : group_comment_;
    in_comment_ = false;
    const size_t begin = at_;
    int parentheses = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_.compare(at_, 2, "//") == 0) at_ = end_of_line(text_, at_);
      at_ = skip_literal(text_, at_);
      const char c = text_[at_];
      if (c == '(') ++parentheses;
      if (c == ')') --parentheses;
      if (parentheses == 0 && (c == ';' || c == '{')) break;
    }
    if (at_ >= text_.size()) return;
    Declaration declaration{joined_spaces(), plain_code(text_.substr(begin, at_ - begin)), "", comment};
    if (text_[at_] == ';') {
      ++at_;
    } else if (begins(declaration.head, "namespace")) {
      const size_t name = declaration.head.find(' ');
      // What lies in an unnamed namespace is no more public than what lies in detail.
      spaces_.push_back(name == std::string::npos ? "detail" : declaration.head.substr(name + 1));
      comment_.clear(), group_comment_.clear();
      ++at_;
      return;
    } else {
      const size_t open = at_;
      at_ = behind_braces(text_, open);
      declaration.body = text_.substr(open + 1, at_ - open - 2);
      if (at_ < text_.size() && text_[at_] == ';') ++at_;
    }
    found_.push_back(declaration);
  }

  std::string joined_spaces() const {
    std::string all;
    for (const std::string& space : spaces_) all += (all.empty() || space.empty() ? "" : "::") + space;
    return all;
  }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<std::string> spaces_;
  std::string comment_, group_comment_;
  bool in_comment_ = false, line_is_empty_ = false;
  std::vector<Declaration> found_;
};

}  // namespace

std::vector<Declaration> declarations_of(const std::string& text) { return Reader(text).read(); }

std::string plain_code(const std::string& text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "//") == 0) at = end_of_line(text, at);
    if (at >= text.size()) break;
    const size_t end = skip_literal(text, at);
    if (end != at) {
      plain += text.substr(at, end + 1 - at);
      at = end;
    } else if (!std::isspace(static_cast<unsigned char>(text[at]))) {
      plain += text[at];
    } else if (!plain.empty() && plain.back() != ' ') {
      plain += ' ';
    }
  }
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  return plain;
}

}  // namespace nyala::repo
