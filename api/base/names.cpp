#include <nyala/api/base/names.h>

#include <map>
#include <mutex>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/mutex.h>

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

struct NameCounters {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::map<std::string, int> counts;
};

NameCounters& name_counters() {
  static NameCounters& counters = *new NameCounters;
  return counters;
}

}  // namespace

std::string unique_name(std::string_view class_name) {
  const std::string base = snake_case(class_name);
  NameCounters& counters = name_counters();
  std::lock_guard lock(counters.mutex);
  const int count = counters.counts[base]++;
  return count == 0 ? base : base + "_" + std::to_string(count);
}

void clear_session() {
  NameCounters& counters = name_counters();
  std::lock_guard lock(counters.mutex);
  counters.counts.clear();
}

}  // namespace nyala
