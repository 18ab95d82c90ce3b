#include <nyala/strategies/cluster/hostlist.h>

#include <charconv>
#include <cstdint>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala::detail {

namespace {

constexpr size_t kMostHosts = 65536;

/// A text that is read from the left.
class ListText {
 public:
  ListText(const std::string& text, const std::string& where, const char* form)
      : text_(text), where_(where), form_(form) {}

  bool at_end() const { return place_ == text_.size(); }
  char next() const { return at_end() ? '\0' : text_[place_]; }
  bool take(char c) {
    if (next() != c) return false;
    ++place_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }
  /// The digits here, at most 9.
  std::string digits() {
    const size_t begin = place_;
    while (!at_end() && is_digit(text_[place_])) ++place_;
    if (place_ == begin) fail("expected a number");
    if (place_ - begin > 9) fail("a number has more than 9 digits");
    return text_.substr(begin, place_ - begin);
  }
  /// Up to a comma or a bracket.
  std::string letters() {
    const size_t begin = place_;
    while (!at_end() && std::string_view(",[]").find(text_[place_]) == std::string_view::npos) {
      const char c = text_[place_];
      if (!is_letter(c) && !is_digit(c) && c != '-' && c != '.' && c != '_') fail("no letter of a host name");
      ++place_;
    }
    return text_.substr(begin, place_ - begin);
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw_wrong_setting(where_, form_,
                        in_quotes(text_) + " (at byte " + std::to_string(place_) + ": " + reason + ")");
  }

 private:
  const std::string& text_;
  const std::string& where_;
  const char* form_;
  size_t place_ = 0;
};

int value_of(const std::string& digits) {
  int value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// What stands between brackets, behind the opening one: "01-03,7".
std::vector<std::string> numbers_in_brackets(ListText& in) {
  std::vector<std::string> numbers;
  do {
    const std::string low = in.digits();
    const std::string high = in.take('-') ? in.digits() : low;
    const int first = value_of(low), last = value_of(high);
    if (last < first) in.fail("a range goes down");
    if (static_cast<size_t>(last - first) + numbers.size() >= kMostHosts) in.fail("more than 65536 hosts");
    for (int number = first; number <= last; ++number) {
      const std::string text = std::to_string(number);
      numbers.push_back((text.size() < low.size() ? std::string(low.size() - text.size(), '0') : "") + text);
    }
  } while (in.take(','));
  in.expect(']');
  return numbers;
}

/// All names that one entry of the list stands for.
std::vector<std::string> names_of_entry(ListText& in) {
  std::vector<std::string> names = {in.letters()};
  const bool has_name = !names[0].empty() || in.next() == '[';
  if (!has_name) in.fail("expected a host name");
  while (in.take('[')) {
    const std::vector<std::string> numbers = numbers_in_brackets(in);
    const std::string behind = in.letters();
    if (names.size() * numbers.size() > kMostHosts) in.fail("more than 65536 hosts");
    std::vector<std::string> longer;
    for (const std::string& name : names)
      for (const std::string& number : numbers) longer.push_back(name + number + behind);
    names = std::move(longer);
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_hostlist(const std::string& text, const std::string& where) {
  ListText in(text, where, "a list of hosts such as gpu[01-03,7],login1");
  std::vector<std::string> hosts;
  do {
    for (std::string& name : names_of_entry(in)) hosts.push_back(std::move(name));
    if (hosts.size() > kMostHosts) in.fail("more than 65536 hosts");
  } while (in.take(','));
  if (!in.at_end()) in.fail("expected ',' or the end");
  return hosts;
}

std::vector<int> expand_tasks_per_node(const std::string& text, const std::string& where) {
  ListText in(text, where, "tasks of each node such as 2(x3),1");
  std::vector<int> counts;
  do {
    const int tasks = value_of(in.digits());
    int times = 1;
    if (in.take('(')) {
      in.expect('x');
      times = value_of(in.digits());
      in.expect(')');
    }
    if (tasks < 1 || times < 1) in.fail("a number is 0");
    if (counts.size() + static_cast<size_t>(times) > kMostHosts) in.fail("more than 65536 nodes");
    counts.insert(counts.end(), static_cast<size_t>(times), tasks);
  } while (in.take(','));
  if (!in.at_end()) in.fail("expected ',' or the end");
  return counts;
}

}  // namespace nyala::detail
