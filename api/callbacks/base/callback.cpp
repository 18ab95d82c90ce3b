#include <nyala/api/callbacks/base/callback.h>

#include <numeric>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

Logs::Logs(std::initializer_list<std::pair<std::string, double>> values) : held_{.values = values} {
  for (size_t i = 0; i < held_.values.size(); ++i) held_.places.emplace(held_.values[i].first, i);
}

// The source is taken away first, so that what it sets does not call it again.
const Logs::Values& Logs::values() const {
  held_.of_now = false;
  if (held_.source) std::exchange(held_.source, nullptr)(const_cast<Logs&>(*this));
  return held_.values;
}

bool Logs::contains(const std::string& name) const {
  (void)values();
  return held_.places.contains(name);
}

double Logs::operator[](const std::string& name) const {
  (void)values();
  if (const auto several = held_.several.find(name); several != held_.several.end())
    throw StateError(in_quotes(name) + " has " + std::to_string(several->second.size()) +
                     " values, one for each class or threshold, and is no single number; they are values(\"" +
                     name + "\")");
  if (const auto place = held_.places.find(name); place != held_.places.end())
    return held_.values[place->second].second;
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
  (void)values();
  held_.several.erase(name);
  const auto [place, is_new] = held_.places.emplace(name, held_.values.size());
  if (is_new)
    held_.values.emplace_back(name, value);
  else
    held_.values[place->second].second = value;
}

}  // namespace nyala
