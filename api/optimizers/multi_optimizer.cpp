#include <nyala/api/optimizers/multi_optimizer.h>

#include <map>
#include <regex>

#include <nyala/api/base/names.h>
#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::regex pattern_of(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw InvalidArgumentError("OptimizerMap: " + in_quotes(text) +
                               " is no regular expression: " + error.what());
  }
}

void check_member(const Optimizer& optimizer) {
  if (!optimizer) throw InvalidArgumentError("MultiOptimizer: expected an optimizer, received none");
  if (dynamic_cast<const OptimizerGroup*>(&optimizer.node()))
    throw InvalidArgumentError("MultiOptimizer: cannot hold a " + optimizer.node().class_name());
}

class MultiNode final : public OptimizerGroup {
 public:
  using Choose = std::function<Optimizer(const Variable&)>;
  MultiNode(const MultiOptimizerConfig& config, Choose choose)
      : OptimizerGroup({.learning_rate = 0.0,
                        .loss_scale_factor = config.loss_scale_factor,
                        .name = config.name.empty() ? unique_name("MultiOptimizer") : config.name}),
        map_(config.optimizer_map),
        choose_(std::move(choose)) {
    for (const auto& [pattern, optimizer] : map_.entries()) take(optimizer);
    if (map_.default_optimizer()) take(map_.default_optimizer());
    if (!choose_ && members().empty())
      throw InvalidArgumentError("MultiOptimizer: expected an optimizer_map, received none");
  }

  std::string class_name() const override { return "MultiOptimizer"; }
  void fields(FieldVisitor& v) override { v.optional("loss_scale_factor", options_.loss_scale_factor); }
  int64_t iterations() const override { return steps_; }
  int64_t steps() const override { return steps_; }
  double learning_rate() const override { refuse_rate(); }
  void set_learning_rate(double) override { refuse_rate(); }
  const OptimizerMap* optimizer_map() const override { return &map_; }

 protected:
  size_t member_of(const Variable& variable) override {
    const auto known = choices_.find(variable.path());
    if (known != choices_.end()) return known->second;
    const size_t member = take(choose_ ? choose_(variable) : map_[variable.path()]);
    choices_[variable.path()] = member;
    return member;
  }
  int64_t own_iteration() const override { return steps_; }
  void set_own_iteration(int64_t iteration) override { steps_ = iteration; }
  void finish_step(bool) override { ++steps_; }

 private:
  size_t take(const Optimizer& optimizer) {
    check_member(optimizer);
    optimizer.node().set_loss_scale_factor(options_.loss_scale_factor);
    return add_member(optimizer);
  }
  [[noreturn]] static void refuse_rate() {
    throw StateError("MultiOptimizer: has no learning rate of its own; ask or set those of its optimizers()");
  }

  OptimizerMap map_;
  Choose choose_;
  std::map<std::string, size_t> choices_;
  int64_t steps_ = 0;
};

}  // namespace

OptimizerMap::OptimizerMap(const Optimizer& default_optimizer, Entries entries)
    : default_(default_optimizer), entries_(std::move(entries)) {
  check_member(default_);
  for (size_t i = 0; i < entries_.size(); ++i) {
    check_member(entries_[i].second);
    pattern_of(entries_[i].first);
    for (size_t k = 0; k < i; ++k)
      if (entries_[k].first == entries_[i].first)
        throw InvalidArgumentError("OptimizerMap: the pattern " + in_quotes(entries_[i].first) +
                                   " is there twice");
  }
}

const Optimizer& OptimizerMap::operator[](const std::string& path) const {
  const Optimizer* found = nullptr;
  bool several = false;
  for (const auto& [pattern, optimizer] : entries_) {
    if (pattern == path) return optimizer;
    if (!std::regex_match(path, pattern_of(pattern))) continue;
    several = several || found != nullptr;
    found = &optimizer;
  }
  if (several)
    throw InvalidArgumentError("OptimizerMap: more than one pattern matches the variable '" + path + "'");
  return found ? *found : default_;
}

MultiOptimizer::MultiOptimizer(const Config& config)
    : Optimizer(std::make_shared<MultiNode>(config, MultiNode::Choose())) {}

MultiOptimizer::MultiOptimizer(const OptimizerMap& optimizer_map, Config config)
    : MultiOptimizer([&] {
        config.optimizer_map = optimizer_map;
        return std::move(config);
      }()) {}

MultiOptimizer::MultiOptimizer(std::function<Optimizer(const Variable&)> choose, Config config)
    : Optimizer(std::make_shared<MultiNode>(config, std::move(choose))) {}

const std::vector<Optimizer>& MultiOptimizer::optimizers() const {
  return static_cast<const OptimizerGroup&>(node()).members();
}

const OptimizerMap& MultiOptimizer::optimizer_map() const {
  return *static_cast<const OptimizerGroup&>(node()).optimizer_map();
}

}  // namespace nyala
