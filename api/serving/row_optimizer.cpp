#include <nyala/api/serving/row_optimizer.h>

#include <algorithm>
#include <set>

#include <nyala/api/layers/base/row_initializer.h>
#include <nyala/api/optimizers/base/optimizer_node.h>
#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/training/training_by_workers.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/json/strict_json.h>

namespace nyala::detail {

namespace {

[[noreturn]] void refuse(const BaseOptimizer& optimizer, const std::string& table, const std::string& what) {
  throw InvalidArgumentError("ParameterServerStrategy: table " + in_quotes(table) + " changes by rows, and " +
                             optimizer.class_name() + what +
                             "; expected SGD, Adagrad, Adam, AdamW, Adamax, Adadelta, Nadam, RMSprop or Lion "
                             "without clipnorm, global_clipnorm, use_ema, gradient_accumulation_steps and "
                             "loss_scale_factor, or tables below .remote_rows_above");
}

/// Those whose update, without a gradient, leaves a weight as it is whose slots are as at first.
bool leaves_fresh_rows(const std::string& name) {
  static const std::set<std::string>& names = *new std::set<std::string>{
      "SGD", "Adagrad", "Adam", "AdamW", "Adamax", "Adadelta", "Nadam", "RMSprop", "Lion"};
  return names.contains(name);
}

bool is_above_zero(double limit) { return limit > 0.0; }

class RowOptimizer final : public RowRule {
 public:
  RowOptimizer(const Optimizer& optimizer, const std::string& table, bool lazy)
      : optimizer_(optimizer), node_(dynamic_cast<const OptimizerNode*>(&optimizer.node())), lazy_(lazy) {
    const BaseOptimizer& base = optimizer.node();
    const OptimizerOptions& options = base.options();
    if (!node_ || !node_->prepares() || node_->takes_whole_variables() ||
        !leaves_fresh_rows(base.class_name()))
      refuse(base, table, " needs more than rows");
    if (is_above_zero(options.clipnorm)) refuse(base, table, " with clipnorm looks at whole gradients");
    if (is_above_zero(options.global_clipnorm))
      refuse(base, table, " with global_clipnorm looks at all gradients");
    if (options.use_ema) refuse(base, table, " with use_ema averages all rows");
    if (options.gradient_accumulation_steps > 0) refuse(base, table, " gathers gradients of all rows");
    if (base.loss_scale() != 1.0) refuse(base, table, " with loss_scale_factor scales gradients");
    slots_ = node_->slot_names().size();
    const auto excluded = base.excluded_from_weight_decay();
    const bool decays =
        is_above_zero(options.weight_decay) &&
        std::ranges::none_of(excluded, [&](auto& name) { return table.find(name) != std::string::npos; });
    if (decays) preparation_.decay = options.weight_decay;
    if (is_above_zero(options.clipvalue)) preparation_.clip_value = options.clipvalue;
  }

  size_t num_slots() const override { return slots_; }
  double slot_initial(size_t slot) const override { return node_->slot_initial(slot); }
  Idle idle() const override {
    if (lazy_) return Idle::stays;
    if (preparation_.decay != 0.0) return Idle::moves;
    const bool keeps = slots_ == 0 || node_->class_name() == "Adagrad";
    return keeps ? Idle::stays : Idle::moves_once_touched;
  }

  void update(int64_t step, double given, const RowBlock& rows) const override {
    const LearningRate& schedule = node_->options().learning_rate;
    const double rate = static_cast<float>(schedule.is_schedule() ? schedule.at(step) : given);
    std::vector<double> numbers = node_->step_scalars(step, rate, DType::float32);
    numbers.insert(numbers.begin(), {1.0, rate, 0.0});
    UpdateRange range;
    range.weight = rows.value;
    range.gradient = rows.gradient;
    range.slot_tensors = rows.slots;
    range.scalars = Tensor::from(numbers);
    range.factor =
        Tensor::view_of(range.scalars.storage(), range.scalars.storage_offset(), {1}, DType::float64);
    range.preparation = preparation_;
    node_->update(range);
  }

 private:
  Optimizer optimizer_;  // keeps the node
  const OptimizerNode* node_;
  bool lazy_;
  size_t slots_ = 0;
  ops::UpdateDescriptor preparation_;
};

struct RowInitializerConfig {
  Initializer initializer;
  void fields(FieldVisitor& v) { v.field("initializer", initializer); }
};

/// Those that give each element by itself, whatever the shape.
void check_by_rows(const Initializer& initializer) {
  static const std::set<std::string>& names = *new std::set<std::string>{
      "Zeros", "Ones", "Constant", "RandomUniform", "RandomNormal", "TruncatedNormal"};
  const std::string name = initializer.node().class_name();
  if (!names.contains(name))
    throw InvalidArgumentError(
        "ParameterServerStrategy: a table that lies on servers gets its first values row by row, which "
        "initializer " +
        in_quotes(name) +
        " cannot make; expected Zeros, Ones, Constant, RandomUniform, RandomNormal or TruncatedNormal");
}

}  // namespace

std::unique_ptr<RowRule> row_rule_of(const Optimizer& optimizer, const std::string& table, bool lazy) {
  return std::make_unique<RowOptimizer>(optimizer, table, lazy);
}

void check_updates_rows(const Optimizer& optimizer, const std::string& table) {
  row_rule_of(optimizer, table, false);
}

std::string text_of_row_initializer(const Initializer& initializer) {
  check_by_rows(initializer);
  RowInitializerConfig config{initializer};
  return config_of(config).dump();
}

RowFillerReader read_row_fillers() {
  return [](const std::string& text, uint64_t key, const Shape&) -> RowFiller {
    constexpr const char* kWhere = "parameter server: the initializer of a table";
    LoadScope scope;
    const Json json = parse_json(text, kWhere);
    RowInitializerConfig config;
    ConfigReader(json, kWhere, scope).field("initializer", config.initializer);
    check_by_rows(config.initializer);
    return [initializer = config.initializer, random = DrawStream(key)](const Tensor& rows) mutable {
      initializer.node().fill(rows, random);
    };
  };
}

}  // namespace nyala::detail
