// Of facts that are the same everywhere only their hash travels. Functions of a program are known by name
// only.
#include <nyala/api/training/compiled_facts.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/base/fields.h>
#include <nyala/api/constraints/constraint.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/api/model/config/fit_config.h>
#include <nyala/api/model/live_models.h>
#include <nyala/api/model/model_node.h>
#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/api/optimizers/multi_optimizer.h>
#include <nyala/api/regularizers/regularizer.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/values_by_ranks.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string fact_text(bool value) { return value ? "true" : "false"; }
std::string fact_text(int64_t value) { return std::to_string(value); }
std::string fact_text(double value) { return std::isnan(value) ? "none" : number_text(value); }
std::string fact_text(const std::string& value) { return value.empty() ? "none" : in_quotes(value); }

template <class T>
std::string fact_text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + fact_text(value);
  return "[" + text + "]";
}

/// Writes fields as facts, each behind the name of what it belongs to.
class FactWriter : public FieldVisitor {
 public:
  explicit FactWriter(TrainingFacts& facts, std::string owner) : facts_(facts), owner_(std::move(owner)) {}

  void field(const char* name, bool& value) override { add(name, value); }
  void field(const char* name, int64_t& value) override { add(name, value); }
  void field(const char* name, double& value) override { add(name, value); }
  void field(const char* name, std::string& value) override { add(name, value); }
  void field(const char* name, std::vector<int64_t>& value) override { add(name, value); }
  void field(const char* name, std::vector<double>& value) override { add(name, value); }
  void field(const char* name, std::vector<std::string>& value) override { add(name, value); }
  void field(const char* name, ActivationArgument& value) override { add(name, value.name()); }
  void field(const char* name, Initializer& value) override { add_object(name, value); }
  void field(const char* name, Regularizer& value) override { add_object(name, value); }
  void field(const char* name, Constraint& value) override { add_object(name, value); }
  void field(const char* name, LearningRate& value) override {
    if (!value.is_schedule()) return add(name, value.rate());
    add(name, value.schedule().class_name());
    FactWriter inside(facts_, owner_ + "." + name);
    value.schedule().fields(inside);
  }
  void optional(const char* name, double& value) override { add(name, value); }
  void optional(const char* name, int64_t& value, int64_t none) override {
    value == none ? add(name, std::string()) : add(name, value);
  }
  void beside(const char* name, bool& value) override { add(name, value); }

 private:
  template <class T>
  void add(const char* name, const T& value) {
    facts_.emplace_back(owner_ + "." + name, fact_text(value));
  }
  template <class Handle>
  void add_object(const char* name, const Handle& handle) {
    if (!handle) return add(name, std::string());
    add(name, handle.node().class_name());
    FactWriter inside(facts_, owner_ + "." + name);
    handle.node().fields(inside);
  }

  TrainingFacts& facts_;
  std::string owner_;
};

/// First values and seeds are those of rank 0, whatever others were told.
class LayerFactWriter final : public FactWriter {
 public:
  using FactWriter::FactWriter;
  using FactWriter::field;
  using FactWriter::optional;
  void field(const char*, Initializer&) override {}
  void field(const char* name, int64_t& value) override {
    if (!is_seed(name)) FactWriter::field(name, value);
  }
  void optional(const char* name, double& value) override {
    if (!is_seed(name)) FactWriter::optional(name, value);
  }
  void optional(const char* name, int64_t& value, int64_t none) override {
    if (!is_seed(name)) FactWriter::optional(name, value, none);
  }

 private:
  static bool is_seed(std::string_view name) { return name == "seed"; }
};

void add_layer_facts(TrainingFacts& facts, const std::string& owner, LayerNode& node) {
  const std::string place = (owner.empty() ? "" : owner + "/") + node.name();
  facts.emplace_back(place, node.class_name());
  facts.emplace_back(place + ".trainable", fact_text(node.trainable()));
  facts.emplace_back(place + ".dtype", node.dtype_policy().name());
  LayerFactWriter writer(facts, place);
  try {
    node.fields(writer);
  } catch (const InvalidArgumentError&) {
    facts.emplace_back(place + ".function", "not shown");  // a Lambda of several tensors, which is code
  }
  for (const auto& [attribute, layer] : node.sublayers()) add_layer_facts(facts, place, layer.node());
}

template <class Node>
void add_facts(TrainingFacts& facts, const std::string& owner, Node& node) {
  facts.emplace_back(owner, node.class_name());
  FactWriter writer(facts, owner);
  node.fields(writer);
}

void add_optimizer_facts(TrainingFacts& facts, const std::string& owner, const Optimizer& optimizer) {
  add_facts(facts, owner, optimizer.node());
  const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer.node());
  if (!group) return;
  const OptimizerMap* const map = group->optimizer_map();
  if (!map) return add_optimizer_facts(facts, owner + ".inner_optimizer", group->members().front());
  for (const auto& [pattern, member] : map->entries())
    add_optimizer_facts(facts, owner + "[" + in_quotes(pattern) + "]", member);
  if (map->default_optimizer()) add_optimizer_facts(facts, owner + "[default]", map->default_optimizer());
}

void add_loss_facts(TrainingFacts& facts, const std::string& owner, const Loss& loss) {
  if (!loss) return facts.emplace_back(owner, "none"), void();
  add_facts(facts, owner, loss.node());
  facts.emplace_back(owner + ".name", loss.name());
}

void add_metric_facts(TrainingFacts& facts, const std::string& owner, const Metric& metric) {
  if (!metric) return facts.emplace_back(owner, "none"), void();
  if (!metric.is_pending()) add_facts(facts, owner, metric.node());
  facts.emplace_back(owner + ".name", metric.name());
}

/// Of each value of a setting that outputs have one of.
template <class T, class Add>
void add_each(TrainingFacts& facts, const std::string& owner, const PerOutput<T>& values, Add&& add) {
  for (size_t i = 0; i < values.list().size(); ++i)
    add(facts, values.list().size() == 1 ? owner : owner + "[" + std::to_string(i) + "]", values.list()[i]);
  for (const auto& [name, value] : values.named()) add(facts, owner + "[" + in_quotes(name) + "]", value);
}

void add_metrics(TrainingFacts& facts, const std::string& owner,
                 const std::map<std::string, std::vector<Metric>>& by_output) {
  for (const auto& [output, metrics] : by_output)
    for (size_t i = 0; i < metrics.size(); ++i)
      add_metric_facts(facts, owner + "[" + in_quotes(output) + "][" + std::to_string(i) + "]", metrics[i]);
}

/// Those of now; of several optimizers each one's.
std::string rates_of(const Optimizer& optimizer) {
  const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer.node());
  if (!group || !group->optimizer_map()) return number_text(static_cast<float>(optimizer.learning_rate()));
  std::string text;
  for (const Optimizer& member : group->members()) text += (text.empty() ? "" : ", ") + rates_of(member);
  return text;
}

std::string dtypes_of(const Variables& variables) {
  std::map<std::string, int64_t> counts;
  for (const Variable& variable : variables) ++counts[std::string(name_of(variable.dtype()))];
  std::string text;
  for (const auto& [dtype, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " of " + dtype;
  return text.empty() ? "none" : text;
}

Tensor as_bytes(const TrainingFacts& facts) {
  std::vector<uint8_t> bytes;
  for (const auto& [name, value] : facts)
    for (const std::string& text : {name, value}) {
      bytes.insert(bytes.end(), text.begin(), text.end());
      bytes.push_back(0);
    }
  return Tensor::from(bytes);
}

std::map<std::string, std::string> from_bytes(const Tensor& bytes) {
  std::vector<std::string> texts(1);
  for (const uint8_t byte : bytes.to_vector<uint8_t>())
    byte == 0 ? texts.emplace_back(), void() : texts.back().push_back(static_cast<char>(byte));
  std::map<std::string, std::string> facts;
  for (size_t i = 0; i + 1 < texts.size(); i += 2) facts[texts[i]] = texts[i + 1];
  return facts;
}

/// Of one fact; empty where all have the same.
std::string difference(const std::vector<std::map<std::string, std::string>>& of_ranks,
                       const std::string& name, MissingFact missing) {
  std::vector<std::string> values;
  for (const auto& facts : of_ranks) {
    const auto found = facts.find(name);
    if (found == facts.end() && missing == MissingFact::is_ignored) return "";
    values.push_back(found == facts.end() ? "not there" : found->second);
  }
  return values_by_ranks(values);
}

std::string list_of_differences(const Tensors& texts, MissingFact missing) {
  constexpr int kMost = 6;
  std::vector<std::map<std::string, std::string>> of_ranks;
  std::map<std::string, std::string> names;
  for (const Tensor& text : texts) names.merge(std::map(of_ranks.emplace_back(from_bytes(text))));
  std::string list;
  int count = 0;
  for (const auto& [name, value] : names)
    if (const std::string text = difference(of_ranks, name, missing); !text.empty() && ++count <= kMost)
      list += (list.empty() ? "" : "; ") + name + " is " + text;
  if (count > kMost) list += "; and " + std::to_string(count - kMost) + " more";
  return list;
}

}  // namespace

TrainingFacts facts_of_compile(const ModelNode& model) {
  const CompileConfig& compile = model.compiled_training().config;
  TrainingFacts facts;
  add_optimizer_facts(facts, "optimizer", model.compiled_training().optimizer);
  add_each(facts, "loss", compile.loss, add_loss_facts);
  add_each(facts, "loss_weights", compile.loss_weights,
           [](TrainingFacts& to, const std::string& name, double weight) {
             to.emplace_back(name, fact_text(weight));
           });
  add_each(facts, "metrics", compile.metrics, add_metric_facts);
  add_each(facts, "weighted_metrics", compile.weighted_metrics, add_metric_facts);
  add_metrics(facts, "metrics", compile.metrics_by_output);
  add_metrics(facts, "weighted_metrics", compile.weighted_metrics_by_output);
  facts.emplace_back("run_eagerly", fact_text(compile.run_eagerly));
  facts.emplace_back("jit_compile", fact_text(compile.jit_compile));
  facts.emplace_back("steps_per_execution", fact_text(compile.steps_per_execution));
  const std::optional<bool> recompute = compile.recompute_batch_normalization;
  facts.emplace_back("recompute_batch_normalization", recompute ? fact_text(*recompute) : "none");
  return facts;
}

TrainingFacts facts_of_epoch(const ModelNode& model) {
  TrainingFacts facts = facts_of_compile(model);
  facts.emplace_back("the learning rate", rates_of(model.compiled_training().optimizer));
  return facts;
}

TrainingFacts facts_of_loop(const StrategyNode& strategy, const Optimizer& optimizer,
                            const Variables& variables) {
  TrainingFacts facts;
  add_optimizer_facts(facts, "optimizer", optimizer);
  facts.emplace_back("the learning rate", rates_of(optimizer));
  for (const std::shared_ptr<ModelNode>& model : live_models(strategy)) {
    const Variables held = model->variables();
    const auto is_held = [&](const Variable& variable) {
      return std::ranges::find(held, variable) != held.end();
    };
    if (std::ranges::any_of(variables, is_held)) add_layer_facts(facts, "", *model);
  }
  std::ranges::sort(facts);
  return facts;
}

namespace {

/// What compile() was told, and the layers' settings.
TrainingFacts settings_of_model(const ModelNode& model) {
  TrainingFacts facts = facts_of_compile(model);
  for (const auto& [attribute, optimizer] : model.own_optimizers())
    add_optimizer_facts(facts, attribute, optimizer);
  add_layer_facts(facts, "", const_cast<ModelNode&>(model));  // showing fields changes nothing
  facts.emplace_back("the weights' dtypes", dtypes_of(model.variables()));
  return facts;
}

}  // namespace

TrainingFacts facts_of_batches(const ModelNode& model) {
  TrainingFacts facts = settings_of_model(model);
  facts.emplace_back("the learning rate", rates_of(model.compiled_training().optimizer));
  return facts;
}

TrainingFacts settings_of_fit(const ModelNode& model, const FitConfig& config) {
  TrainingFacts facts = settings_of_model(model);
  facts.emplace_back("batch_size", fact_text(config.batch_size));
  facts.emplace_back("epochs", fact_text(int64_t{config.epochs}));
  facts.emplace_back("initial_epoch", fact_text(int64_t{config.initial_epoch}));
  facts.emplace_back("steps_per_epoch", fact_text(config.steps_per_epoch));
  facts.emplace_back("shuffle", fact_text(config.shuffle));
  facts.emplace_back("validation_split", fact_text(config.validation_split));
  facts.emplace_back("validation_data", config.validation_data ? "given" : "none");
  facts.emplace_back("validation_freq", fact_text(int64_t{config.validation_freq}));
  facts.emplace_back("validation_epochs", fact_text(std::vector<int64_t>(config.validation_epochs.begin(),
                                                                         config.validation_epochs.end())));
  facts.emplace_back("cache_frozen_features", fact_text(config.cache_frozen_features));
  facts.emplace_back("validation_steps", fact_text(config.validation_steps));
  facts.emplace_back("validation_batch_size", fact_text(config.validation_batch_size));
  for (const auto& [label, weight] : config.class_weight)
    facts.emplace_back("class_weight[" + std::to_string(label) + "]", fact_text(static_cast<double>(weight)));
  return facts;
}

TrainingFacts facts_of_fit(const ModelNode& model, const FitConfig& config) {
  TrainingFacts facts = settings_of_fit(model, config);
  facts.emplace_back("the learning rate", rates_of(model.compiled_training().optimizer));
  return facts;
}

namespace {

constexpr const char* kWhat = "what is trained, and how";

// Who throws then ends what the others speak by: when all have the texts.
std::string exchanged_differences(ProcessExchange& processes, const TrainingFacts& facts,
                                  MissingFact missing) {
  const Tensors texts = processes.all_values({as_bytes(facts)}, kWhat);
  said_by_all(processes, int64_t{0}, kWhat);
  return list_of_differences(texts, missing);
}

}  // namespace

uint64_t number_of(const TrainingFacts& facts) {
  uint64_t number = mix_key(0, "facts");
  for (const auto& [name, value] : facts) number = mix_key(mix_key(number, name), value);
  return number;
}

bool are_alike(ProcessExchange* processes, const TrainingFacts& facts) {
  if (!processes) return true;
  const std::vector<uint64_t> all = said_by_all(*processes, number_of(facts), kWhat);
  return std::ranges::all_of(all, [&](uint64_t one) { return one == all[0]; });
}

std::string differences(ProcessExchange& processes, const TrainingFacts& facts) {
  return exchanged_differences(processes, facts, MissingFact::differs);
}

void check_alike(ProcessExchange* processes, const TrainingFacts& facts, const char* what,
                 MissingFact missing) {
  if (are_alike(processes, facts)) return;
  const std::string list = exchanged_differences(*processes, facts, missing);
  if (list.empty() && missing == MissingFact::is_ignored) return;
  throw StateError(std::string(what) + ": the processes do not train the same" +
                   (list.empty()
                        ? ""
                        : ": " + list + ". All of them have to run the same program with the same settings"));
}

}  // namespace nyala
