#include <nyala/api/callbacks/base/callback.h>

#include <algorithm>
#include <numeric>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

auto find(const Logs::Values& values, const std::string& name) {
  return std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == name; });
}

}  // namespace

// The source is taken away first, so that what it sets does not call it again.
const Logs::Values& Logs::values() const {
  held_.of_now = false;
  if (held_.source) std::exchange(held_.source, nullptr)(const_cast<Logs&>(*this));
  return held_.values;
}

bool Logs::contains(const std::string& name) const { return find(values(), name) != held_.values.end(); }

double Logs::operator[](const std::string& name) const {
  const auto found = find(values(), name);
  if (const auto several = held_.several.find(name); several != held_.several.end())
    throw StateError(in_quotes(name) + " has " + std::to_string(several->second.size()) +
                     " values, one for each class or threshold, and is no single number; they are values(\"" +
                     name + "\")");
  if (found != held_.values.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& value : held_.values) names.push_back(value.first);
  throw NotFoundError("logs hold no " + in_quotes(name) + did_you_mean(name, names) +
                      (names.empty() ? ": they are empty" : ": available are " + quoted_list(names)));
}

std::vector<double> Logs::values(const std::string& name) const {
  (void)values();
  const auto several = held_.several.find(name);
  return several == held_.several.end() ? std::vector<double>{(*this)[name]} : several->second;
}

void Logs::set(const std::string& name, const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  set(name, values.empty() ? 0.0 : sum / static_cast<double>(values.size()));
  if (values.size() != 1) held_.several[name] = values;
}

void Logs::set(const std::string& name, double value) {
  const auto found = find(values(), name);
  held_.several.erase(name);
  if (found != held_.values.end())
    held_.values[static_cast<size_t>(found - held_.values.begin())].second = value;
  else
    held_.values.emplace_back(name, value);
}

}  // namespace nyala
