#include <cctype>
#include <regex>

#include <nyala/tests/repo/function_scan.h>

namespace nyala::repo {
namespace {

enum class Block { scope, function, other };

class Scanner {
 public:
  explicit Scanner(const std::string& code) : code_(code) {}

  std::vector<FunctionExtent> run() {
    for (size_t i = 0; i < code_.size(); ++i) step(i);
    return std::move(functions_);
  }

 private:
  void step(size_t i) {
    const char c = code_[i];
    if (c == '\n') ++line_;
    if (inside_ != Block::scope) {
      step_inside(i);
    } else if (c == '(') {
      ++parentheses_;
      head_ += c;
    } else if (c == ')') {
      --parentheses_;
      head_ += c;
    } else if (c == '{') {
      open();
    } else if (c == '}' || (c == ';' && parentheses_ == 0)) {
      head_.clear();
    } else if (!head_.empty() || !std::isspace(static_cast<unsigned char>(c))) {
      if (head_.empty()) head_line_ = line_;
      head_ += c;
    }
  }

  void open() {
    static const std::regex scope(
        R"(^\s*(template\s*<.*>\s*)?(inline\s+|typedef\s+|static\s+)*(namespace|class|struct|union|enum|extern)\b)");
    const bool is_scope = parentheses_ == 0 && std::regex_search(head_, scope) && head_.back() != ')';
    const bool has_list = head_.find('(') != std::string::npos;
    if (head_.empty()) head_line_ = line_;
    if (is_scope) {
      head_.clear();
      return;
    }
    inside_ = parentheses_ == 0 && has_list ? Block::function : Block::other;
    depth_ = 1;
  }

  void step_inside(size_t i) {
    if (code_[i] == '{') ++depth_;
    if (code_[i] != '}' || --depth_ > 0) return;
    const Block closed = inside_;
    inside_ = Block::scope;
    // A brace inside the parameter list (a default argument), or in a list of member initialisers: the head
    // goes on.
    if (parentheses_ > 0 || (closed == Block::function && head_goes_on(i + 1))) return;
    if (closed == Block::function) functions_.push_back({head_line_, line_});
    head_.clear();
  }

  bool head_goes_on(size_t next) const {
    while (next < code_.size() && std::isspace(static_cast<unsigned char>(code_[next]))) ++next;
    return next < code_.size() && (code_[next] == ',' || code_[next] == '{');
  }

  const std::string& code_;
  std::vector<FunctionExtent> functions_;
  std::string head_;
  int head_line_ = 1;
  int line_ = 1;
  int parentheses_ = 0;
  int depth_ = 0;
  Block inside_ = Block::scope;
};

}  // namespace

std::vector<FunctionExtent> functions_of(const std::string& code) { return Scanner(code).run(); }

}  // namespace nyala::repo
