#include <nyala/api/saving/config/training_config.h>

#include <nyala/api/base/registry.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/config/config_writer.h>
#include <nyala/api/saving/config/save_notes.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const ObjectTable<Loss>& losses() {
  static const ObjectTable<Loss>& table = *new ObjectTable<Loss>("loss", Losses{});
  return table;
}

const ObjectTable<Metric>& metric_table() {
  static const ObjectTable<Metric>& table = *new ObjectTable<Metric>("metric", Metrics{});
  return table;
}

/// A function under its registered name; null, and noted, for one without.
Json function_to_json(const LossFunction& function, const std::string& what) {
  if (const std::string name = registered_name_of(function); !name.empty()) return function_envelope(name);
  SaveNotes::left_out(what);
  return {};
}

/// The entry beside a loss that is a function for what Keras does not say about one, and ignores.
constexpr const char* kFunctionLoss = "nyala";

Json function_loss_to_json(const Loss& loss, const std::string& what) {
  Json json = function_to_json(*loss.node().function(), what);
  const Json said = config_of(loss.node());
  if (json.is_object() && said != config_of(Loss(*loss.node().function()).node())) json[kFunctionLoss] = said;
  return json;
}

FunctionLossConfig function_loss_config(const Json& json, const std::string& name) {
  FunctionLossConfig config{.name = name};
  if (!json.is_object() || !json.contains(kFunctionLoss) || !json[kFunctionLoss].is_object()) return config;
  const Json& said = json[kFunctionLoss];
  config.reduction = said.value("reduction", config.reduction);
  config.rows_are_independent = said.value("rows_are_independent", config.rows_are_independent);
  return config;
}

Json loss_to_json(const Loss& loss) {
  if (!loss) return {};
  const LossNode& node = loss.node();
  if (node.class_name() == "Crossentropy") return node.name();
  if (node.function()) return function_loss_to_json(loss, "the loss " + in_quotes(loss.name()));
  Json config = config_of(node);
  config["name"] = node.name();
  return envelope_of(typeid(node), "keras.losses", node.class_name(), std::move(config));
}

/// Null for what no file can hold.
Json metric_to_json(const Metric& metric) {
  if (metric.is_pending()) return metric.name();
  const MetricNode& node = metric.node();
  const LossNode* const loss = node.loss() ? &node.loss()->node() : nullptr;
  if (loss && !metric_table().has(node.class_name())) {
    if (loss->function())
      return function_loss_to_json(*node.loss(), "the metric " + in_quotes(metric.name()));
    return envelope_of(typeid(*loss), "keras.losses", loss->class_name(), config_of(node));
  }
  Json config = config_of(node);
  config["name"] = metric.name();
  return envelope_of(typeid(node), "keras.metrics", node.class_name(), std::move(config));
}

/// A list without what no file can hold; with `places` each keeps its place, since it belongs to an output.
Json metrics_list(const std::vector<Metric>& metrics, bool places) {
  Json list = Json::array();
  for (const Metric& metric : metrics)
    if (Json json = metric_to_json(metric); places || !json.is_null()) list.push_back(std::move(json));
  return list;
}

/// One value alone, else a list, else by name.
template <class T, class ToJson>
Json per_output_json(const PerOutput<T>& values, ToJson to_json) {
  if (values.empty()) return {};
  Json out;
  if (!values.named().empty()) {
    out = Json::object();
    for (const auto& [name, value] : values.named()) out[name] = to_json(value);
  } else if (values.list().size() == 1) {
    out = to_json(values.list()[0]);
  } else {
    out = Json::array();
    for (const T& value : values.list()) out.push_back(to_json(value));
  }
  return out;
}

using MetricsByOutput = std::map<std::string, std::vector<Metric>>;

Json metrics_json(const PerOutput<Metric>& metrics, const MetricsByOutput& by_output, bool several_outputs) {
  if (metrics.named().empty() && by_output.empty())
    return metrics.empty() ? Json() : metrics_list(metrics.list(), several_outputs);
  Json out = Json::object();
  for (const auto& [name, metric] : metrics.named()) out[name] = metrics_list({metric}, false);
  for (const auto& [name, list] : by_output) out[name] = metrics_list(list, false);
  return out;
}

bool is_envelope(const Json& json) { return json.is_object() && json.contains("class_name"); }

/// The values of a list, which is nested where a model's outputs are.
template <class T, class FromJson>
void add_each(const Json& json, std::vector<T>& list, FromJson from_json) {
  for (const Json& item : json)
    if (item.is_array())
      add_each(item, list, from_json);
    else
      list.push_back(from_json(item));
}

/// A value, a list of them, or one by name.
template <class T, class FromJson>
PerOutput<T> per_output_from(const Json& json, FromJson from_json) {
  if (json.is_null()) return {};
  if (json.is_array()) {
    std::vector<T> list;
    add_each(json, list, from_json);
    return PerOutput<T>(std::move(list));
  }
  if (!json.is_object() || is_envelope(json)) return PerOutput<T>(std::vector<T>{from_json(json)});
  std::map<std::string, T> named;
  for (const auto& [name, value] : json.items()) named.emplace(name, from_json(value));
  return PerOutput<T>(std::move(named));
}

/// Keras takes losses by name for some of a dictionary of outputs.
PerOutput<Loss> with_all_outputs(PerOutput<Loss> losses, const std::vector<std::string>& outputs) {
  if (losses.named().empty()) return losses;
  std::map<std::string, Loss> named = losses.named();
  for (const std::string& output : outputs) named.emplace(output, Loss());
  return PerOutput<Loss>(std::move(named));
}

const Json& part_of(const Json& config, const char* key) {
  static const Json& absent = *new Json;
  return config.contains(key) ? config[key] : absent;
}

/// Keras also writes one list per output, or lists by output name.
void read_metrics(PerOutput<Metric>& metrics, MetricsByOutput& by_output, const Json& json,
                  const std::vector<std::string>& outputs, const std::function<Metric(const Json&)>& make) {
  const auto list_of = [&](const Json& entry) {
    std::vector<Metric> list;
    for (const Json& item : entry.is_array() ? entry : Json::array({entry}))
      if (!item.is_null()) list.push_back(make(item));
    return list;
  };
  const bool lists = json.is_array() && std::any_of(json.begin(), json.end(), [](const Json& entry) {
                       return entry.is_array() || entry.is_null();
                     });
  if (lists && outputs.size() <= 1) {
    std::vector<Metric> all;
    for (const Json& entry : json)
      for (Metric& metric : list_of(entry)) all.push_back(std::move(metric));
    metrics = PerOutput<Metric>(std::move(all));
  } else if (lists) {
    for (size_t i = 0; i < json.size() && i < outputs.size(); ++i) by_output[outputs[i]] = list_of(json[i]);
  } else if (json.is_object() && !is_envelope(json)) {
    for (const auto& [name, entry] : json.items()) by_output[name] = list_of(entry);
  } else {
    metrics = per_output_from<Metric>(json, make);
  }
}

/// "Custom>Adam", as Keras 2.11 and later wrote it.
ConfigObject without_old_package(ConfigObject object) {
  if (object.registered_name.empty()) object.registered_name = object.class_name;
  object.class_name = without_package(object.class_name);
  return object;
}

}  // namespace

namespace {

/// A wrapper says what scales the losses of the optimizers in it.
Json member_to_json(const Optimizer& optimizer) {
  Json json = optimizer_to_json(optimizer.node());
  if (json["config"].contains("loss_scale_factor")) json["config"]["loss_scale_factor"] = nullptr;
  return json;
}

Json map_to_json(const OptimizerMap& map, const std::string& name) {
  if (!map.default_optimizer())
    throw InvalidArgumentError("what chooses the optimizers of " + in_quotes(name) + " is a C++ function");
  Json entries = Json::object();
  for (const auto& [pattern, member] : map.entries()) entries[pattern] = member_to_json(member);
  return envelope("keras.optimizers", "OptimizerMap",
                  {{"default_optimizer", member_to_json(map.default_optimizer())},
                   {"optimizer_map", std::move(entries)}});
}

LossScaleOptimizer loss_scale_from_json(const Json& config, const std::string& where, LoadScope& scope) {
  LossScaleOptimizer::Config values;
  ConfigReader reader(config, where, scope);
  reader.field("name", values.name);
  values.inner_optimizer =
      optimizer_from_json(member_of(config, "inner_optimizer", where), where + ", 'inner_optimizer'", scope);
  reader.field("initial_scale", values.initial_scale);
  reader.field("dynamic_growth_steps", values.dynamic_growth_steps);
  return LossScaleOptimizer(values);
}

MultiOptimizer multi_from_json(const Json& config, const std::string& where, LoadScope& scope) {
  MultiOptimizer::Config values;
  ConfigReader reader(config, where, scope);
  reader.field("name", values.name);
  reader.optional("loss_scale_factor", values.loss_scale_factor);
  const std::string place = where + ", 'optimizer_map'";
  const ConfigObject map = object_of(member_of(config, "optimizer_map", where), place);
  if (map.class_name != "OptimizerMap")
    throw FileFormatError(place + ": expected an OptimizerMap, found a " + map.class_name +
                          ", which is not run");
  OptimizerMap::Entries entries;
  const Json& patterns = member_of(map.config, "optimizer_map", place);
  if (!patterns.is_object()) throw FileFormatError(place + ": expected optimizers by pattern");
  for (const auto& [pattern, member] : patterns.items())
    entries.emplace_back(pattern, optimizer_from_json(member, place, scope));
  const Json& fallback = member_of(map.config, "default_optimizer", place);
  values.optimizer_map = OptimizerMap(optimizer_from_json(fallback, place, scope), std::move(entries));
  return MultiOptimizer(values);
}

}  // namespace

Json optimizer_to_json(BaseOptimizer& optimizer) {
  Json config = {{"name", optimizer.name()}};
  const Json fields = config_of(optimizer);
  for (const auto& [key, value] : fields.items()) config[key] = value;
  if (config.contains("learning_rate") && config["learning_rate"].is_number())
    config["learning_rate"] = optimizer.learning_rate();
  if (const auto* group = dynamic_cast<const OptimizerGroup*>(&optimizer)) {
    if (const OptimizerMap* map = group->optimizer_map())
      config["optimizer_map"] = map_to_json(*map, group->name());
    else
      config["inner_optimizer"] = member_to_json(group->members().front());
  }
  return envelope_of(typeid(optimizer), "keras.optimizers", optimizer.class_name(), std::move(config));
}

Optimizer optimizer_from_json(const Json& json, const std::string& where, LoadScope& scope) {
  static const ObjectTable<Optimizer>& table = *new ObjectTable<Optimizer>("optimizer", Optimizers{});
  ConfigObject object = without_old_package(object_of(json, where));
  if (json.is_string()) return Optimizer(object.class_name);
  if (!object.config.contains("learning_rate") && object.config.contains("lr"))
    object.config["learning_rate"] = Json(object.config["lr"]);
  const std::string inside = where + " (" + object.class_name + ")";
  try {
    if (object.class_name == "LossScaleOptimizer") return loss_scale_from_json(object.config, inside, scope);
    if (object.class_name == "MultiOptimizer") return multi_from_json(object.config, inside, scope);
  } catch (const InvalidArgumentError& error) {
    throw FileFormatError(inside + ": " + error.what());
  }
  return table.make(object, where, scope);
}

Loss loss_from_json(const Json& json, const std::string& where, LoadScope& scope) {
  if (json.is_null()) return {};
  const ConfigObject object = object_of(json, where);
  const std::string function = object.function_name();
  if (!json.is_string() && function.empty()) return losses().make(object, where, scope);
  const std::string& name = function.empty() ? object.class_name : function;
  const CustomObject own = find_custom_function(name, scope);
  if (const auto* const known = own.as<KnownLossFunction>())
    return Loss(known->function, function_loss_config(json, without_package(name)));
  return Loss(name);
}

Metric metric_from_json(const Json& json, const std::string& where, LoadScope& scope) {
  const ConfigObject object = object_of(json, where);
  const std::string function = object.function_name();
  if (json.is_string() || !function.empty()) {
    const std::string& name = function.empty() ? object.class_name : function;
    const CustomObject own = find_custom_function(name, scope);
    const auto* const known = own.as<KnownLossFunction>();
    if (!known) return Metric(name);
    const FunctionLossConfig said = function_loss_config(json, without_package(name));
    return Metric(known->function, {.name = said.name, .rows_are_independent = said.rows_are_independent});
  }
  if (object.class_name == "MeanMetricWrapper" && object.config.contains("fn")) {
    const Metric made = metric_from_json(object.config["fn"], where, scope);
    return object.config.contains("name") && object.config["name"].is_string()
               ? made.renamed(object.config["name"].get<std::string>())
               : made;
  }
  const CustomObject own = find_custom(object, scope);
  const bool is_loss = own.as<ObjectMaker<Loss>>() ||
                       (losses().has(object.class_name) && !metric_table().has(object.class_name));
  if (is_loss) return Metric(losses().make(object, where, scope));
  return metric_table().make(object, where, scope);
}

Json compile_to_json(const Model& model) {
  if (!model.compiled()) return {};
  const CompileConfig& compile = model.model_node().compiled_training().config;
  const bool several = model.model_node().output_names(1).size() > 1;
  try {
    Json out = {{"optimizer", optimizer_to_json(model.optimizer().node())},
                {"loss", per_output_json(compile.loss, loss_to_json)},
                {"loss_weights", per_output_json(compile.loss_weights, [](double w) { return Json(w); })},
                {"metrics", metrics_json(compile.metrics, compile.metrics_by_output, several)},
                {"weighted_metrics",
                 metrics_json(compile.weighted_metrics, compile.weighted_metrics_by_output, several)},
                {"run_eagerly", compile.run_eagerly},
                {"steps_per_execution", compile.steps_per_execution},
                {"jit_compile", false}};
    return out;
  } catch (const InvalidArgumentError& error) {
    SaveNotes::not_compiled(error.what());
    return {};
  }
}

void compile_from_json(const Model& model, const Json& config, const std::string& where, LoadScope& scope) {
  if (!config.is_object() || config.empty()) {  // Keras writes {} for a model that is not compiled
    return model.model_node().set_no_loss_because(where + " holds a model that was not compiled");
  }
  const std::string place = where + ", 'compile_config'";
  const auto loss = [&](const Json& json) { return loss_from_json(json, place + ", 'loss'", scope); };
  const auto metric = [&](const Json& json) { return metric_from_json(json, place + ", 'metrics'", scope); };
  CompileConfig compile;
  try {
    if (!part_of(config, "optimizer").is_null())
      compile.optimizer = optimizer_from_json(config["optimizer"], place + ", 'optimizer'", scope);
    compile.loss = per_output_from<Loss>(part_of(config, "loss"), loss);
    compile.loss_weights = per_output_from<double>(part_of(config, "loss_weights"), [&](const Json& weight) {
      if (!weight.is_number()) throw FileFormatError(place + ", 'loss_weights': expected numbers");
      return weight.get<double>();
    });
    const std::vector<std::string> outputs = model.model_node().output_names(1);
    compile.loss = with_all_outputs(std::move(compile.loss), outputs);
    read_metrics(compile.metrics, compile.metrics_by_output, part_of(config, "metrics"), outputs, metric);
    read_metrics(compile.weighted_metrics, compile.weighted_metrics_by_output,
                 part_of(config, "weighted_metrics"), outputs, metric);
    ConfigReader(config, place, scope).optional("steps_per_execution", compile.steps_per_execution, 1);
  } catch (const InvalidArgumentError& error) {
    throw FileFormatError(place + ": " + error.what());
  }
  model.compile(compile);
  if (compile.loss.empty())
    model.model_node().set_no_loss_because(
        where +
        " names no loss: the model had none, or a function that register_serializable() had not "
        "named when it was saved");
}

}  // namespace nyala
