// A step: numbers of the step into a tensor on the weights' device (learning rate, factors, a formula's own),
// norms where gradients are clipped by them, then the formula over the plan's ranges, moving averages behind
// it in the same slice, constraints at the end. Kernels read the numbers from memory, so that a step is
// launched the same each time.
#include <algorithm>

#include <nyala/api/optimizers/base/optimizer.h>
#include <nyala/api/optimizers/base/update_slices.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// 0 and negative limits are as good as none, as in Keras.
bool clips(double limit) { return limit > 0.0; }

std::string shown(double value) { return std::isnan(value) ? "None" : number_text(value); }

void check_clipping(const OptimizerOptions& o) {
  int given = 0;
  for (double limit : {o.clipnorm, o.clipvalue, o.global_clipnorm}) given += std::isnan(limit) ? 0 : 1;
  if (given > 1)
    throw InvalidArgumentError(
        "optimizer: expected at most one of clipnorm, clipvalue and global_clipnorm, received "
        "clipnorm=" +
        shown(o.clipnorm) + ", clipvalue=" + shown(o.clipvalue) +
        ", global_clipnorm=" + shown(o.global_clipnorm));
}

void check_options(const OptimizerOptions& o) {
  check_clipping(o);
  if (o.gradient_accumulation_steps < 0 || o.gradient_accumulation_steps == 1)
    throw InvalidArgumentError(
        "optimizer: expected gradient_accumulation_steps >= 2 (or 0: none), received " +
        std::to_string(o.gradient_accumulation_steps));
  if (o.use_ema && !(o.ema_momentum >= 0.0 && o.ema_momentum <= 1.0))
    throw InvalidArgumentError("optimizer: expected ema_momentum in [0, 1], received " +
                               shown(o.ema_momentum));
  if (o.use_ema && o.ema_overwrite_frequency < 0)
    throw InvalidArgumentError("optimizer: expected ema_overwrite_frequency >= 1 (or 0: never), received " +
                               std::to_string(o.ema_overwrite_frequency));
}

}  // namespace

OptimizerNode::OptimizerNode(OptimizerOptions options)
    : options_(std::move(options)), rate_(static_cast<float>(options_.learning_rate.rate())) {
  check_options(options_);
}

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
      throw DTypeError(who + ": expected variables of one dtype, received " +
                       std::string(name_of(variables.front().dtype())) + " and, for " +
                       in_quotes(variable.path()) + ", " + std::string(name_of(variable.dtype())));
  }
}

}  // namespace

void OptimizerNode::build(ParameterStore& store, const Variables& variables) {
  check_variables(class_name(), variables);
  const bool same_arena = store_.get() == &store && !variables_.empty() && !variables.empty() &&
                          variables_.front().dtype() == variables.front().dtype();
  const auto unmoved = same_arena ? this->unmoved() : std::set<const VariableNode*>();
  if (same_arena && variables == variables_ && unmoved.size() == variables.size()) return;
  const auto left_behind = state_left_behind(unmoved, variables);
  const auto places = std::make_shared<std::vector<Segment>>();
  for (const Variable& variable : variables) places->push_back(variable.node().segment);
  Variables constrained, own = variables;
  std::ranges::copy_if(variables, std::back_inserter(constrained),
                       [](const Variable& variable) { return bool(variable.node().spec.constraint); });
  std::vector<Copy> others;
  if (!same_arena) others.swap(copies_);
  const auto kept = static_cast<std::ptrdiff_t>(copies_.size());
  std::shared_ptr<ParameterStore> its_store = store.shared_from_this();
  const auto exchange = [&] {
    store_.swap(its_store);
    variables_.swap(own);
    constrained_.swap(constrained);
  };
  exchange();
  try {
    for (int copy = static_cast<int>(copies_.size()); copy < store.num_weight_copies() && !variables_.empty();
         ++copy)
      copies_.push_back(make_copy(copy));
    for (Copy& copy : copies_) {
      copy.plan = nullptr;
      reset_segments(copy, unmoved);
    }
    for (const auto& [entry, value] : left_behind) write(entry, value);
  } catch (...) {  // nothing was built
    exchange();
    copies_.erase(copies_.begin() + kept, copies_.end());
    if (!same_arena) copies_.swap(others);
    throw;
  }
  for (Copy& copy : copies_) copy.places = places;
  partial_updates_.clear();
}

OptimizerNode::Copy OptimizerNode::make_copy(int copy) const {
  const Device device = store_->weights_device(copy);
  Copy made;
  for (size_t slot = 0; slot < slot_names().size(); ++slot)
    made.slot_planes.emplace_back(device, dtype(), slot_initial(slot));
  if (options_.use_ema) made.averages.emplace_back(device, dtype());
  return made;
}

// Arena space is recycled: what lies in a new variable's segments may be an old one's.
void OptimizerNode::reset_segments(Copy& copy, const std::set<const VariableNode*>& kept) const {
  for (const Variable& variable : variables_) {
    if (kept.contains(&variable.node())) continue;
    const Segment whole = ArenaLayout::with_gap(variable.node().segment);
    for (size_t slot = 0; slot < copy.slot_planes.size(); ++slot) {
      copy.slot_planes[slot].reset(store_->layout(dtype()), whole);
      if (!slot_begins_as_weight(slot)) continue;
      const Segment& segment = variable.node().segment;
      const int index = static_cast<int>(&copy - copies_.data());
      copy.slot_planes[slot]
          .view(store_->layout(dtype()), segment)
          .copy_from(store_->weights(index, dtype(), segment));
    }
    for (Plane& average : copy.averages) average.reset(store_->layout(dtype()), whole);
  }
}

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
  plan.num_formula_scalars = step_scalars(0, 0.0, dtype()).size();
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

double OptimizerNode::loss_scale() const {
  return std::isnan(options_.loss_scale_factor) ? 1.0 : options_.loss_scale_factor;
}

double OptimizerNode::gradient_scale() const {
  return 1.0 / (loss_scale() * static_cast<double>(accumulation_steps()));
}

std::vector<double> OptimizerNode::scalars() const {
  const double rate = learning_rate();
  std::vector<double> values = step_scalars(iterations(), rate, dtype());
  const double average = iterations() == 0 ? 0.0 : options_.ema_momentum;
  values.insert(values.begin(), {gradient_scale(), rate, average});
  return values;
}

bool OptimizerNode::begin_step() { return (steps_ + 1) % accumulation_steps() == 0; }

bool OptimizerNode::accumulates_into_existing() const { return steps_ % accumulation_steps() != 0; }

std::unique_ptr<UpdatePlan> OptimizerNode::make_plan(int index, const Variables& variables) {
  Copy& copy = copies_.at(static_cast<size_t>(index));
  return std::make_unique<UpdatePlan>(plan_options(variables), *store_, index, copy.slot_planes,
                                      copy.averages.empty() ? nullptr : &copy.averages.front());
}

UpdatePlan& OptimizerNode::plan_of(int index) {
  Copy& copy = copies_.at(static_cast<size_t>(index));
  if (!copy.plan) copy.plan = make_plan(index, variables_);
  return *copy.plan;
}

void OptimizerNode::apply(const UpdatePlace& place) {
  if (variables_.empty()) return;
  apply_plan(plan_of(place.copy), place, variables_);
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

void OptimizerNode::prepare(const UpdateRange& range) {
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
    const Tensor weight = store_->weights(copy, dtype(), node.segment).with_shape(variable.shape());
    const Tensor projected = node.spec.constraint(weight);
    dispatch_into(ops::kAffine, ops::AffineDescriptor{}, {&projected}, weight);
  }
}

void OptimizerNode::end_step() { ++steps_; }

void OptimizerNode::end_gathering() {
  average_and_constrain([this](int copy) -> UpdatePlan& { return plan_of(copy); }, variables_);
}

void OptimizerNode::average_and_constrain(const std::function<UpdatePlan&(int)>& plan_of,
                                          const Variables& variables) {
  for (int copy = 0; copy < static_cast<int>(copies_.size()) && (options_.use_ema || !constrained_.empty());
       ++copy) {
    UpdatePlan& plan = plan_of(copy);
    if (plan.slices() == 0) plan.arrange(store_->sum_place(copy), 1);
    plan.set_scalars(scalars());
    for (int slice = 0; slice < plan.slices() && options_.use_ema; ++slice)
      for (const UpdateRange& range : plan.ranges(slice)) average(range);
    constrain(copy, variables);
  }
  ++steps_;
}

void OptimizerNode::finalize_averages() {
  if (!options_.use_ema || variables_.empty()) return;
  for (size_t copy = 0; copy < copies_.size(); ++copy)
    for (const Variable& variable : variables_) {
      const Segment& segment = variable.node().segment;
      store_->weights(static_cast<int>(copy), dtype(), segment)
          .copy_from(copies_[copy].averages.front().view(store_->layout(dtype()), segment));
    }
  store_->fetch(variables_);
}

}  // namespace nyala
