#include <nyala/api/callbacks/callback.h>

#include <algorithm>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

auto find(const Logs::Values& values, const std::string& name) {
  return std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
}

}  // namespace

// The source is taken away first, so that what it sets does not call it again.
const Logs::Values& Logs::values() const {
  if (source_) std::exchange(source_, nullptr)(const_cast<Logs&>(*this));
  return values_;
}

bool Logs::contains(const std::string& name) const { return find(values(), name) != values_.end(); }

double Logs::operator[](const std::string& name) const {
  const auto found = find(values(), name);
  if (found != values_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& value : values_) names.push_back(value.first);
  throw NotFoundError("logs hold no '" + name + "'" + did_you_mean(name, names) +
                      (names.empty() ? ": they are empty" : ": available are " + quoted_list(names)));
}

void Logs::set(const std::string& name, double value) {
  const auto found = find(values(), name);
  if (found != values_.end())
    values_[static_cast<size_t>(found - values_.begin())].second = value;
  else
    values_.emplace_back(name, value);
}

}  // namespace nyala
