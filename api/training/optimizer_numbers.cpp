#include <nyala/api/training/optimizer_numbers.h>

#include <memory>
#include <mutex>

#include <nyala/api/optimizers/base/optimizer_group.h>

namespace nyala::detail {

namespace {

constexpr const char* kSteps = "iteration";
constexpr const char* kRate = "learning_rate";

/// `see` each of a group's optimizers, or the one.
void for_each_member(BaseOptimizer& optimizer, const std::string& place,
                     const std::function<void(BaseOptimizer&, const std::string&)>& see) {
  const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer);
  if (!group) return see(optimizer, place);
  for (size_t i = 0; i < group->members().size(); ++i)
    see(group->members()[i].node(), place + std::to_string(i) + "/");
}

bool has_rate(const BaseOptimizer& optimizer) { return !optimizer.options().learning_rate.is_schedule(); }

}  // namespace

void add_numbers(const BaseOptimizer& optimizer, const std::string& place, OptimizerNumbers& numbers) {
  numbers[place + kSteps] = static_cast<double>(optimizer.steps());
  for_each_member(const_cast<BaseOptimizer&>(optimizer), place,
                  [&](BaseOptimizer& member, const std::string& of_member) {
                    numbers[of_member + kSteps] = static_cast<double>(member.steps());
                    if (has_rate(member)) numbers[of_member + kRate] = member.learning_rate();
                  });
}

// Replicas that read one after the other find what the first of them has written: it is written once.
void take_steps(BaseOptimizer& optimizer, const std::string& place, const OptimizerNumbers& numbers) {
  const auto take = [&](BaseOptimizer& one, const std::string& of_one) {
    const auto found = numbers.find(of_one + kSteps);
    if (found == numbers.end()) return;
    const auto steps = static_cast<int64_t>(found->second);
    if (one.steps() != steps) one.set_steps(steps);
  };
  take(optimizer, place);
  for_each_member(optimizer, place, take);
}

void take_numbers(BaseOptimizer& optimizer, const std::string& place, const OptimizerNumbers& numbers) {
  take_steps(optimizer, place, numbers);
  for_each_member(optimizer, place, [&](BaseOptimizer& member, const std::string& of_member) {
    const auto rate = numbers.find(of_member + kRate);
    if (rate == numbers.end() || !has_rate(member)) return;
    if (member.learning_rate() != rate->second) member.set_learning_rate(rate->second);
  });
}

OptimizerNumbers numbers_of_servers(RemoteParameters& parameters, const std::string& rule) {
  OptimizerNumbers numbers;
  for (const auto& [name, value] : parameters.rule_state(rule, RemoteParameters::StateParts::numbers).tensors)
    numbers[name] = value.item();
  return numbers;
}

void set_catch_up(BaseOptimizer& optimizer, const std::function<void(BaseOptimizer::Access)>& catch_up) {
  const auto in_turns = [catch_up, mutex = std::make_shared<std::mutex>()](BaseOptimizer::Access access) {
    const std::lock_guard lock(*mutex);
    catch_up(access);
  };
  optimizer.set_catch_up(in_turns);
  for_each_member(optimizer, "",
                  [&](BaseOptimizer& member, const std::string&) { member.set_catch_up(in_turns); });
}

}  // namespace nyala::detail
