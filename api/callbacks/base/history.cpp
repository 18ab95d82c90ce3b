#include <nyala/api/callbacks/base/history.h>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

History::History() : record_(std::make_shared<Record>()) {}

History::Values* History::find(const std::string& name) const {
  const auto place = record_->places.find(name);
  return place == record_->places.end() ? nullptr : &record_->values[place->second].second;
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
  if (const auto found = record_->all.find(name); found != record_->all.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, values] : record_->values) names.push_back(known);
  if (names.empty())
    throw NotFoundError("the history has no " + in_quotes(name) +
                        ": no epoch has run, as where fit is to go on behind the last one");
  throw NotFoundError("the history has no " + in_quotes(name) + did_you_mean(name, names) + "; there are " +
                      quoted_list(names));
}

bool History::contains(const std::string& name) const { return find(name) != nullptr; }

void History::on_train_begin(Logs&) {
  record_->values.clear();
  record_->places.clear();
  record_->all.clear();
  record_->epochs.clear();
  record_->parameters = parameters();
}

void History::on_epoch_end(int epoch, Logs& logs) {
  record_->epochs.push_back(epoch);
  for (const auto& [name, value] : logs) {
    const auto [place, is_new] = record_->places.emplace(name, record_->values.size());
    if (is_new) record_->values.emplace_back(name, Values());
    record_->values[place->second].second.push_back(value);
    record_->all[name].push_back(logs.values(name));
  }
}

}  // namespace nyala
