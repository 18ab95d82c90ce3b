#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <nyala/strategies/parameter_server/function_values.h>

namespace nyala::detail {

/// Values that each worker makes for itself, when it first needs them. Processes know them by the order in
/// which the program makes them.
class PerWorkerValues {
 public:
  struct Entry {
    std::type_index type;
    std::function<std::shared_ptr<void>()> make;
    std::shared_ptr<void> value = nullptr;
    size_t number = 0;
  };

  std::shared_ptr<Entry> add(std::type_index type, std::function<std::shared_ptr<void>()> make);
  /// Throws CommunicationError where the program here has made none of that number, or one of another type.
  std::shared_ptr<Entry> at(size_t number, std::type_index type) const;

 private:
  std::vector<std::shared_ptr<Entry>> entries_;
};

/// The functions of a program that its chief may schedule and its workers carry out, by their names.
class WorkerFunctions {
 public:
  /// Reads arguments, calls, and gives what was returned.
  using Body = std::function<std::vector<std::byte>(ValueReader&)>;

  /// Throws InvalidArgumentError for a name that is empty, or taken.
  void add(const std::string& name, Body body);
  /// Throws NotFoundError for a name that this program has not given.
  std::vector<std::byte> call(const std::string& name, std::span<const std::byte> arguments);
  PerWorkerValues& per_worker() { return per_worker_; }

 private:
  std::map<std::string, Body> bodies_;
  PerWorkerValues per_worker_;
};

}  // namespace nyala::detail
