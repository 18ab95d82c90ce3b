#include <nyala/api/callbacks/base/history.h>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

History::History() : record_(std::make_shared<Record>()) {}

History::Values* History::find(const std::string& name) const {
  Record& own = record();
  const auto place = own.places.find(name);
  return place == own.places.end() ? nullptr : &own.values[place->second].second;
}

const History::Values& History::operator[](const std::string& name) const {
  for (const Values& values : this->values(name))
    if (values.size() != 1)
      throw StateError("the history has " + std::to_string(values.size()) + " values of " + in_quotes(name) +
                       " per epoch, one for each class or threshold; they are values(\"" + name + "\")");
  return *find(name);
}

double History::last(const std::string& name) const { return (*this)[name].back(); }

const std::vector<History::Values>& History::values(const std::string& name) const {
  const Record& own = record();
  if (const auto found = own.all.find(name); found != own.all.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, values] : own.values) names.push_back(known);
  if (names.empty())
    throw NotFoundError("the history has no " + in_quotes(name) +
                        ": no epoch has run, as where fit is to go on behind the last one");
  throw NotFoundError("the history has no " + in_quotes(name) + did_you_mean(name, names) + "; there are " +
                      quoted_list(names));
}

bool History::contains(const std::string& name) const { return find(name) != nullptr; }

void History::on_train_begin(Logs&) {
  Record& own = record();
  own = {};
  own.parameters = parameters();
}

void History::on_epoch_end(int epoch, Logs& logs) {
  Record& own = record();
  own.epochs.push_back(epoch);
  for (const auto& [name, value] : logs) {
    const auto [place, is_new] = own.places.emplace(name, own.values.size());
    if (is_new) own.values.emplace_back(name, Values());
    own.values[place->second].second.push_back(value);
    own.all[name].push_back(logs.values(name));
  }
}

}  // namespace nyala
