#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/backend/core/held.h>

namespace nyala {

/// What fit returns: the logs of every epoch. A handle: copies share the record.
class History : public Callback {
 public:
  using Values = std::vector<double>;

  History();

  /// One number per epoch. Throws NotFoundError with the nearest name, StateError for a metric that has a
  /// value for each class or threshold.
  const Values& operator[](const std::string& name) const;
  /// That of the last epoch, likewise.
  double last(const std::string& name) const;
  /// All values of a metric, per epoch.
  const std::vector<Values>& values(const std::string& name) const;
  bool contains(const std::string& name) const;
  /// Names and numbers in the order of their first appearance; of several values their mean.
  const std::vector<std::pair<std::string, Values>>& history() const { return record().values; }
  /// The same: `for (const auto& [name, values] : history)`.
  auto begin() const { return history().begin(); }
  auto end() const { return history().end(); }
  /// Numbers of the epochs, from 0.
  const std::vector<int>& epoch() const { return record().epochs; }
  const CallbackParameters& params() const { return record().parameters; }

  void on_train_begin(Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;

 private:
  struct Record {
    std::vector<std::pair<std::string, Values>> values;
    std::map<std::string, size_t> places;            // of names among the values
    std::map<std::string, std::vector<Values>> all;  // by epoch
    std::vector<int> epochs;
    CallbackParameters parameters;
  };
  Values* find(const std::string& name) const;
  Record& record() const { return detail::held(record_, "History", "it was moved from; fit() returns one"); }

  std::shared_ptr<Record> record_;
};

}  // namespace nyala
