// A step: numbers of the step into a tensor on the weights' device (learning rate, factors, a formula's own),
// norms where gradients are clipped by them, then the formula over the plan's ranges, moving averages behind
// it in the same slice, constraints at the end. Kernels read the numbers from memory, so that a step is
// launched the same each time.
#include <nyala/api/optimizers/base/optimizer_node.h>

#include <algorithm>

#include <nyala/api/optimizers/base/update_slices.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

OptimizerNode::OptimizerNode(OptimizerOptions options)
    : BaseOptimizer(std::move(options)),
      state_(*this, options_.use_ema, options_.gradient_accumulation_steps > 0),
      rate_(static_cast<float>(options_.learning_rate.rate())) {}

OptimizerNode::~OptimizerNode() = default;

void OptimizerNode::exclude_from_weight_decay(std::vector<std::string> patterns) {
  if (built())
    throw StateError(class_name() +
                     ": exclude_from_weight_decay() must be called before the optimizer is built");
  no_decay_ = std::move(patterns);
}

double OptimizerNode::decay_of(const Variable& variable) const {
  const double decay = weight_decay_of(variable);
  const bool excluded = std::any_of(no_decay_.begin(), no_decay_.end(), [&](const std::string& pattern) {
    return variable.name().find(pattern) != std::string::npos ||
           variable.path().find(pattern) != std::string::npos;
  });
  return excluded || std::isnan(decay) ? 0.0 : decay;
}

namespace {

void check_variables(const std::string& who, const Variables& variables) {
  for (const Variable& variable : variables) {
    if (!variable.node().in_arena)
      throw StateError(who + ": variable " + in_quotes(variable.path()) +
                       " was not trainable when it was made and cannot be optimized");
    if (variable.dtype() != variables.front().dtype())
      throw DTypeError(
          who + ": expected variables of one dtype, received " +
          std::string(name_of(variables.front().dtype())) + " and, for " + in_quotes(variable.path()) + ", " +
          std::string(name_of(variable.dtype())) +
          "; a MultiOptimizer has an optimizer for each dtype, and layers of a mixed policy have "
          "float32 weights");
  }
}

}  // namespace

void OptimizerNode::build(ParameterStore& store, const Variables& variables) {
  check_variables(class_name(), variables);
  if (state_.lies(store, variables)) return;
  for (std::unique_ptr<UpdatePlan>& plan : plans_) plan = nullptr;
  partial_updates_.clear();
  state_.build(store, variables);
  plans_.resize(static_cast<size_t>(state_.num_copies()));
  constrained_.clear();
  std::ranges::copy_if(variables, std::back_inserter(constrained_),
                       [](const Variable& variable) { return bool(variable.node().spec.constraint); });
}

namespace {

/// 0 and negative limits are as good as none, as in Keras.
bool clips(double limit) { return limit > 0.0; }

}  // namespace

UpdatePlanOptions OptimizerNode::plan_options(const Variables& variables) const {
  UpdatePlanOptions plan;
  plan.variables = variables;
  for (const Variable& variable : variables) plan.decays.push_back(decay_of(variable));
  plan.whole_variables = takes_whole_variables();
  if (clips(options_.clipnorm))
    plan.clipping = Clipping::norm, plan.clip_limit = options_.clipnorm;
  else if (clips(options_.global_clipnorm))
    plan.clipping = Clipping::global_norm, plan.clip_limit = options_.global_clipnorm;
  else if (clips(options_.clipvalue))
    plan.clipping = Clipping::value, plan.clip_limit = options_.clipvalue;
  plan.num_slots = slot_names().size();
  plan.num_formula_scalars = step_scalars(0, 0.0, state_.dtype()).size();
  plan.averages = options_.use_ema;
  return plan;
}

int64_t OptimizerNode::iterations() const { return steps_ / accumulation_steps(); }

double OptimizerNode::learning_rate() const {
  if (!options_.learning_rate.is_schedule()) return rate_;
  return static_cast<float>(options_.learning_rate.at(steps_));
}

void OptimizerNode::set_learning_rate(double rate) {
  if (options_.learning_rate.is_schedule())
    throw StateError(class_name() + ": the learning rate is a schedule (" +
                     options_.learning_rate.schedule().class_name() +
                     ") and cannot be set; make the optimizer with a number instead");
  rate_ = static_cast<float>(rate);
}

double OptimizerNode::gradient_scale() const {
  return 1.0 / (loss_scale() * static_cast<double>(accumulation_steps()));
}

std::vector<double> OptimizerNode::scalars() const {
  const double rate = learning_rate();
  std::vector<double> values = step_scalars(iterations(), rate, state_.dtype());
  const double average = iterations() == 0 ? 0.0 : options_.ema_momentum;
  values.insert(values.begin(), {gradient_scale(), rate, average});
  return values;
}

bool OptimizerNode::begin_step() {
  part_ = nullptr;
  return (steps_ + 1) % accumulation_steps() == 0;
}

bool OptimizerNode::accumulates_into_existing() const { return steps_ % accumulation_steps() != 0; }

std::unique_ptr<UpdatePlan> OptimizerNode::make_plan(int copy, const Variables& variables) {
  return std::make_unique<UpdatePlan>(plan_options(variables), state_.store(), copy, state_.slot_planes(copy),
                                      state_.average(copy));
}

UpdatePlan& OptimizerNode::plan_of(int copy) {
  std::unique_ptr<UpdatePlan>& plan = plans_.at(static_cast<size_t>(copy));
  if (!plan) plan = make_plan(copy, variables());
  return *plan;
}

void OptimizerNode::apply(const UpdatePlace& place) {
  if (part_) return part_->apply(place);
  if (variables().empty()) return;
  apply_plan(plan_of(place.copy), place, variables());
}

void OptimizerNode::apply_plan(UpdatePlan& plan, const UpdatePlace& place, const Variables& variables) {
  plan.arrange(place.gradient_replica, place.num_slices);
  plan.set_scalars(scalars());
  if (plan.measures_norms()) {
    for_slices(place, [&plan](int slice) { plan.measure(slice); });
    plan.combine_norms();
  }
  for_slices(place, [this, &plan](int slice) { update_slice(plan, slice); });
  constrain(place.copy, variables);
}

void UpdateFormula::prepare(const UpdateRange& range) {
  const Tensor* inputs[] = {&range.gradient, &range.factor, &range.scalars};
  Tensor outputs[] = {range.gradient, range.weight};
  dispatch(ops::kPrepareUpdate, range.preparation, inputs, outputs);
}

void OptimizerNode::update_slice(const UpdatePlan& plan, int slice) const {
  for (const UpdateRange& range : plan.ranges(slice)) {
    if (!prepares()) prepare(range);
    update(range);
    if (options_.use_ema) average(range);
  }
}

bool OptimizerNode::overwrites_now() const {
  return options_.ema_overwrite_frequency > 0 && (iterations() + 1) % options_.ema_overwrite_frequency == 0;
}

void OptimizerNode::average(const UpdateRange& range) const {
  dispatch_into(ops::kMovingAverage, NoDescriptor{}, {&range.weight, &range.scalars}, range.average);
  if (overwrites_now()) dispatch_into(ops::kAffine, ops::AffineDescriptor{}, {&range.average}, range.weight);
}

void OptimizerNode::constrain(int copy, const Variables& variables) const {
  for (const Variable& variable : constrained_) {
    if (std::find(variables.begin(), variables.end(), variable) == variables.end()) continue;
    const VariableNode& node = variable.node();
    const Tensor weight =
        state_.store().weights(copy, state_.dtype(), node.segment).with_shape(variable.shape());
    const Tensor projected = node.spec.constraint(weight);
    dispatch_into(ops::kAffine, ops::AffineDescriptor{}, {&projected}, weight);
  }
}

void OptimizerNode::end_step() { ++steps_; }

void OptimizerNode::end_gathering() {
  if (part_) return part_->end_gathering();
  average_and_constrain([this](int copy) -> UpdatePlan& { return plan_of(copy); }, variables());
}

void OptimizerNode::average_and_constrain(const std::function<UpdatePlan&(int)>& plan_of,
                                          const Variables& variables) {
  for (int copy = 0; copy < state_.num_copies() && (options_.use_ema || !constrained_.empty()); ++copy) {
    UpdatePlan& plan = plan_of(copy);
    if (plan.slices() == 0) plan.arrange(state_.store().sum_place(copy), 1);
    plan.set_scalars(scalars());
    for (int slice = 0; slice < plan.slices() && options_.use_ema; ++slice)
      for (const UpdateRange& range : plan.ranges(slice)) average(range);
    constrain(copy, variables);
  }
  ++steps_;
}

void OptimizerNode::finalize_averages() {
  if (!options_.use_ema || variables().empty()) return;
  const ArenaLayout layout = state_.store().layout(state_.dtype());
  for (int copy = 0; copy < state_.num_copies(); ++copy)
    for (const Variable& variable : variables()) {
      const Segment& segment = variable.node().segment;
      state_.store()
          .weights(copy, state_.dtype(), segment)
          .copy_from(state_.average(copy)->view(layout, segment));
    }
  for (const Variable& variable : variables()) variable.node().note_write();
  state_.store().fetch(variables());
}

}  // namespace nyala
