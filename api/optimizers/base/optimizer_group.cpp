// A group is the rule for all of its variables and hands each member its share. Members step together or not
// at all: admits() looks at the sums once, before any of them has changed a weight.
#include <nyala/api/optimizers/base/optimizer_group.h>

#include <algorithm>

#include <nyala/backend/core/error.h>

namespace nyala {

/// The group as the rule for some of its variables.
class OptimizerGroup::Rule final : public UpdateRule {
 public:
  Rule(OptimizerGroup& group, Variables variables, std::vector<UpdateRule*> rules)
      : group_(group), variables_(std::move(variables)), rules_(std::move(rules)) {}

  bool is(const Variables& variables, const std::vector<UpdateRule*>& rules) const {
    return variables == variables_ && rules == rules_;
  }
  const Variables& variables() const override { return variables_; }
  bool begin_step() override {
    bool applies = false;
    for (UpdateRule* rule : rules_) applies = rule->begin_step();
    return applies;
  }
  bool accumulates_into_existing() const override { return rules_.front()->accumulates_into_existing(); }
  void apply(const UpdatePlace& place) override { group_.apply_rules(rules_, place, variables_); }
  void end_step() override { group_.end_rules(rules_); }
  void end_gathering() override {
    for (UpdateRule* rule : rules_) rule->end_gathering();
    group_.finish_step(true);
  }

 private:
  OptimizerGroup& group_;
  Variables variables_;
  std::vector<UpdateRule*> rules_;
};

namespace {

/// As many as single optimizers keep.
constexpr size_t kMaxRules = 8;

}  // namespace

OptimizerGroup::OptimizerGroup(OptimizerOptions options) : BaseOptimizer(std::move(options)) {}

OptimizerGroup::~OptimizerGroup() = default;

size_t OptimizerGroup::add_member(const Optimizer& member) {
  for (size_t i = 0; i < members_.size(); ++i)
    if (&members_[i].node() == &member.node()) return i;
  const auto steps_of = [](const Optimizer& o) { return o.node().options().gradient_accumulation_steps; };
  if (!members_.empty() && steps_of(member) != steps_of(members_[0]))
    throw InvalidArgumentError(
        class_name() + ": expected one gradient_accumulation_steps for all optimizers, received " +
        std::to_string(steps_of(members_[0])) + " and " + std::to_string(steps_of(member)));
  members_.push_back(member);
  return members_.size() - 1;
}

std::vector<Variables> OptimizerGroup::shares_of(const Variables& variables) {
  std::vector<Variables> shares(members_.size());
  for (const Variable& variable : variables) {
    const size_t member = member_of(variable);
    shares.resize(members_.size());
    shares[member].push_back(variable);
  }
  return shares;
}

namespace {

/// `owner` begins with `variables`: none of its members may have begun with those of another model.
void check_members(const BaseOptimizer& owner, const std::vector<Optimizer>& members,
                   const Variables& variables) {
  for (const Optimizer& member : members) {
    const Variables& known = member.node().variables();
    if (!known.empty() && std::ranges::find_first_of(variables, known) == variables.end())
      throw StateError(owner.class_name() + ": its " + member.node().class_name() +
                       " updates the variables of another model (" + detail::in_quotes(known.front().path()) +
                       ", ...); give every model optimizers of its own");
  }
}

}  // namespace

void OptimizerGroup::build(ParameterStore& store, const Variables& variables) {
  const std::vector<Variables> shares = shares_of(variables);
  if (!built_) check_members(*this, members_, variables);
  for (size_t i = 0; i < shares.size(); ++i)
    if (!shares[i].empty() || members_[i].node().built()) members_[i].node().build(store, shares[i]);
  variables_ = variables;
  rules_.clear();
  built_ = true;
}

void OptimizerGroup::exclude_from_weight_decay(std::vector<std::string> patterns) {
  for (const Optimizer& member : members_) member.node().exclude_from_weight_decay(patterns);
}

std::vector<UpdateRule*> OptimizerGroup::built_members() const {
  std::vector<UpdateRule*> rules;
  for (const Optimizer& member : members_)
    if (!member.node().variables().empty()) rules.push_back(&member.node());
  return rules;
}

UpdateRule& OptimizerGroup::rule_for(ParameterStore& store, const Variables& listed,
                                     const Variables& active) {
  if (!built()) build(store, listed);
  const std::vector<Variables> listed_shares = shares_of(listed), active_shares = shares_of(active);
  std::vector<UpdateRule*> rules;
  for (size_t i = 0; i < active_shares.size(); ++i)
    if (!active_shares[i].empty())
      rules.push_back(&members_[i].node().rule_for(store, listed_shares[i], active_shares[i]));
  if (active.size() == variables_.size()) return *this;
  for (const auto& rule : rules_)
    if (rule->is(active, rules)) return *rule;
  if (rules_.size() == kMaxRules) rules_.erase(rules_.begin());
  rules_.push_back(std::make_unique<Rule>(*this, active, std::move(rules)));
  return *rules_.back();
}

bool OptimizerGroup::begin_step() {
  part_ = nullptr;
  bool applies = true;
  for (UpdateRule* rule : built_members()) applies = rule->begin_step();
  return applies;
}

bool OptimizerGroup::accumulates_into_existing() const {
  const std::vector<UpdateRule*> rules = built_members();
  return !rules.empty() && rules.front()->accumulates_into_existing();
}

void OptimizerGroup::apply(const UpdatePlace& place) {
  if (part_) return part_->apply(place);
  apply_rules(built_members(), place, variables_);
}

void OptimizerGroup::end_step() {
  if (part_) return part_->end_step();
  end_rules(built_members());
}

void OptimizerGroup::end_gathering() {
  if (part_) return part_->end_gathering();
  for (UpdateRule* rule : built_members()) rule->end_gathering();
  finish_step(true);
}

// Every set of weights sees the same sums and decides alike.
void OptimizerGroup::apply_rules(const std::vector<UpdateRule*>& rules, const UpdatePlace& place,
                                 const Variables& variables) {
  admitted_ = admits(place, variables);
  if (!admitted_) return;
  for (UpdateRule* rule : rules) rule->apply(place);
}

void OptimizerGroup::end_rules(const std::vector<UpdateRule*>& rules) {
  if (admitted_)
    for (UpdateRule* rule : rules) rule->end_step();
  finish_step(admitted_);
  admitted_ = true;
}

void OptimizerGroup::finalize_averages() {
  for (const Optimizer& member : members_) member.node().finalize_averages();
}

std::vector<OptimizerVariable> OptimizerGroup::own_variables_for_file() const {
  return {{"iteration", Tensor::scalar(own_iteration())}, {"learning_rate", Tensor::scalar(0.0f)}};
}

std::vector<OptimizerVariable> OptimizerGroup::variables_before_build() const {
  std::vector<OptimizerVariable> result = own_variables_for_file();
  for (const Optimizer& member : members_)
    for (const OptimizerVariable& variable : member.node().variables_before_build())
      result.push_back({member.node().name() + "/" + variable.name, variable.value});
  return result;
}

std::vector<OptimizerVariable> OptimizerGroup::shared_variables_for_file() const {
  std::vector<OptimizerVariable> result = own_variables_for_file();
  for (OptimizerVariable& own : own_variables()) result.push_back(std::move(own));
  for (const Optimizer& member : members_)
    for (const OptimizerVariable& variable : member.node().shared_variables_for_file())
      result.push_back({member.node().name() + "/" + variable.name, variable.value});
  return result;
}

// Everything is checked before anything is changed.
void OptimizerGroup::load_variables(const std::vector<Tensor>& values) {
  const std::vector<OptimizerVariable> now = shared_variables_for_file();
  if (values.size() != now.size())
    throw ShapeError(class_name() + ": expected " + std::to_string(now.size()) +
                     " optimizer variables, received " + std::to_string(values.size()) +
                     (built() ? "" : "; the optimizer has not been built yet"));
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i].defined() || values[i].shape() != now[i].value.shape())
      throw ShapeError("optimizer variable " + detail::in_quotes(now[i].name) + ": expected shape " +
                       now[i].value.shape().to_string() + ", received " +
                       (values[i].defined() ? values[i].shape().to_string() : "nothing"));
  const size_t own = own_variables().size();
  set_own_iteration(static_cast<int64_t>(values[0].item()));
  load_own_variables(std::span(values).subspan(2, own));
  size_t first = 2 + own;
  for (const Optimizer& member : members_) {
    const size_t count = member.node().shared_variables_for_file().size();
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    member.node().load_variables(Tensors(begin, begin + static_cast<std::ptrdiff_t>(count)));
    first += count;
  }
  ++times_loaded_;
}

}  // namespace nyala
