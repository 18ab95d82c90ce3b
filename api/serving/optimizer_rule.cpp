#include <nyala/api/serving/optimizer_rule.h>

#include <map>

#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/config/training_config.h>
#include <nyala/api/serving/row_optimizer.h>
#include <nyala/api/training/served_optimizer.h>
#include <nyala/backend/core/error.h>

namespace nyala::detail {

namespace {

constexpr const char* kWhere = "parameter server: the optimizer and its constraints";

class OptimizerRule final : public ServerRule {
 public:
  OptimizerRule(const std::string& text, const std::vector<std::string>& no_decay) {
    LoadScope scope;
    const Json rule = parse_json(text, kWhere);
    optimizer_ = optimizer_from_json(member_of(rule, "optimizer", kWhere), kWhere, scope);
    ConfigReader(rule, kWhere, scope).field("lazy_rows", lazy_rows_);
    const Json& constraints = member_of(rule, "constraints", kWhere);
    ConfigReader reader(constraints, kWhere, scope);
    for (const auto& [name, unused] : constraints.items()) reader.field(name.c_str(), constraints_[name]);
    if (!no_decay.empty()) optimizer_.node().exclude_from_weight_decay(no_decay);
  }

  void build(ParameterStore& store, const Variables& variables) override {
    for (const Variable& variable : variables) {
      const auto constraint = constraints_.find(variable.path());
      variable.node().spec.constraint = nullptr;
      if (constraint != constraints_.end()) variable.node().spec.constraint = constraint->second;
    }
    optimizer_.node().build(store, variables);
  }
  UpdateRule& rule_for(ParameterStore& store, const Variables& active) override {
    return optimizer_.node().rule_for(store, active, active);  // workers warn of what has no gradient
  }
  std::vector<std::pair<std::string, Tensor>> state() const override {
    std::vector<std::pair<std::string, Tensor>> state;
    for (const OptimizerVariable& variable : variables_for_servers(optimizer_.node()))
      state.emplace_back(variable.name, variable.value);
    return state;
  }
  void load_state(const Tensors& values) override { optimizer_.node().load_variables(values); }
  void set_learning_rate(double rate, size_t member) override {
    const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer_.node());
    (group ? group->members().at(member) : optimizer_).set_learning_rate(rate);
  }
  std::unique_ptr<RowRule> for_rows(const std::string& table) const override {
    return row_rule_of(optimizer_, table, lazy_rows_);
  }

 private:
  Optimizer optimizer_;
  bool lazy_rows_ = false;
  std::map<std::string, Constraint> constraints_;  // by variable
};

}  // namespace

ServerRuleReader read_optimizer_rules() {
  return [](const std::string& text, const std::vector<std::string>& no_decay) {
    return std::make_unique<OptimizerRule>(text, no_decay);
  };
}

}  // namespace nyala::detail
