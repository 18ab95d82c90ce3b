// Errors' texts. What somebody may have meant is the candidate at the smallest distance (insert, delete,
// replace, swap two neighbours: optimal string alignment), where that is at most a third of the letters (2 in
// short names). Where it is more than two letters off, the shortest candidate that has all words of the name
// goes first; where there is none of these, one that begins with the name.
#include <nyala/backend/core/error.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/check_is_function.h>
#include <nyala/backend/core/held.h>

namespace nyala {

using namespace nyala::detail;

void detail::throw_empty_handle(const char* kind, const char* how) {
  throw StateError(std::string(kind) + ": this handle is empty; " + how);
}

void detail::throw_empty_function(const char* what) {
  throw InvalidArgumentError(std::string(what) + ": expected a function, received an empty one");
}

void detail::check_internal(bool condition, std::string_view what, SourcePlace where) {
  if (condition) return;
  throw InternalError("internal error: " + std::string(what) + " (" + where.file + ":" +
                      std::to_string(where.line) + "); please report it");
}

void detail::rethrow_with_prefix(const std::string& prefix) {
  try {
    throw;
  } catch (Error& error) {
    error.put_in_front(prefix);
    throw;
  }
}

namespace {

/// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

namespace {

std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::istringstream text(name);
  for (std::string word; std::getline(text, word, '_');) words.insert(word);
  return words;
}

/// The shortest candidate that has all words of `wanted` and more, or null: "sparse_crossentropy" means
/// "sparse_categorical_crossentropy", though "binary_crossentropy" has fewer other letters.
const std::string* with_all_words(const std::string& wanted, const std::vector<std::string>& candidates) {
  const std::set<std::string> words = words_of(wanted);
  const std::string* shortest = nullptr;
  for (const std::string& candidate : candidates) {
    const std::set<std::string> others = words_of(lower_case(candidate));
    if (std::includes(others.begin(), others.end(), words.begin(), words.end()) &&
        (!shortest || candidate.size() < shortest->size()))
      shortest = &candidate;
  }
  return shortest;
}

}  // namespace

std::string detail::did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = lower_case(name);
  size_t best = std::max<size_t>(2, wanted.size() / 3) + 1;
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(wanted, lower_case(candidate));
    if (distance < best) {
      best = distance;
      nearest = &candidate;
    }
  }
  constexpr size_t kSlip = 2;  // letters that a finger misses
  if (best > kSlip && !wanted.empty())
    if (const std::string* const longer = with_all_words(wanted, candidates)) nearest = longer;
  // The beginning of a longer name: val_acc.
  for (const std::string& candidate : candidates)
    if (!nearest && wanted.size() >= 3 && lower_case(candidate).starts_with(wanted)) nearest = &candidate;
  return nearest ? " (did you mean " + in_quotes(*nearest) + "?)" : "";
}

std::string detail::in_quotes(std::string_view name) {
  constexpr size_t kMaxShown = 200;
  if (name.size() <= kMaxShown) return "'" + printable(name) + "'";
  size_t shown = kMaxShown;
  while (shown > kMaxShown - 4 && (static_cast<unsigned char>(name[shown]) & 0xc0) == 0x80) --shown;
  return "'" + printable(name.substr(0, shown)) + "...'";
}

std::string detail::quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + in_quotes(name);
  return out;
}

}  // namespace nyala
