#include <nyala/strategies/parameter_server/worker_functions.h>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

std::shared_ptr<PerWorkerValues::Entry> PerWorkerValues::add(std::type_index type,
                                                             std::function<std::shared_ptr<void>()> make) {
  entries_.push_back(std::make_shared<Entry>(Entry{type, std::move(make), nullptr, entries_.size()}));
  return entries_.back();
}

std::shared_ptr<PerWorkerValues::Entry> PerWorkerValues::at(size_t number, std::type_index type) const {
  if (number >= entries_.size() || entries_[number]->type != type)
    throw CommunicationError("ClusterCoordinator: the program here has no per-worker value " +
                             std::to_string(number) +
                             " of that type; all processes make the same ones, in the same order");
  return entries_[number];
}

void WorkerFunctions::add(const std::string& name, Body body) {
  if (name.empty()) throw InvalidArgumentError("ClusterCoordinator: a function needs a name");
  if (!bodies_.emplace(name, std::move(body)).second)
    throw InvalidArgumentError("ClusterCoordinator: there is a function " + in_quotes(name) +
                               " already; give each its own name");
}

std::vector<std::byte> WorkerFunctions::call(const std::string& name, std::span<const std::byte> arguments) {
  const auto found = bodies_.find(name);
  if (found == bodies_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, body] : bodies_) names.push_back(known);
    throw NotFoundError("ClusterCoordinator: the worker's program has no function " + in_quotes(name) +
                        did_you_mean(name, names) + "; all processes name the same ones, before serve()");
  }
  ValueReader in(arguments, &per_worker_);
  return found->second(in);
}

}  // namespace nyala::detail
