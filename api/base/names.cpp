#include <nyala/api/base/names.h>

#include <mutex>

#include <nyala/api/base/dtype_policy.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

std::string detail::snake_case(std::string_view class_name) {
  auto lower = [&](size_t i) { return i < class_name.size() && is_lower(class_name[i]); };
  std::string out;
  for (size_t i = 0; i < class_name.size(); ++i) {
    const char letter = class_name[i];
    if (!is_letter(letter) && !is_digit(letter) && letter != '_') continue;
    const bool word_starts = i > 0 && is_upper(letter) && (lower(i + 1) || lower(i - 1));
    if (word_starts && !out.empty() && out.back() != '_') out += '_';
    out += to_lower(letter);
  }
  return out;
}

namespace {

NameCounters& name_counters() {
  static NameCounters& of_process = *new NameCounters;
  NameCounters* const of_thread = thread_context().names;
  return of_thread ? *of_thread : of_process;
}

}  // namespace

std::string detail::NameCounters::next(std::string_view class_name) {
  const std::string base = snake_case(class_name);
  const std::lock_guard lock(mutex_);
  const int count = counts_[base]++;
  return count == 0 ? base : base + "_" + std::to_string(count);
}

void detail::NameCounters::clear() {
  const std::lock_guard lock(mutex_);
  counts_.clear();
}

std::string unique_name(std::string_view class_name) { return name_counters().next(class_name); }

void clear_session() {
  name_counters().clear();
  set_dtype_policy(DTypePolicy());
}

}  // namespace nyala
