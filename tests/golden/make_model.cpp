#include <map>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/make_layer.h>
#include <nyala/tests/golden/make_model.h>
#include <nyala/tests/golden/make_optimizer.h>

namespace nyala::golden {

using namespace nyala::detail;
namespace {

Shape shape_of(const Json& sizes) { return Shape(sizes.get<std::vector<int64_t>>()); }

Layer make_entry(const Json& entry) {
  const std::string name = entry.at("name").as_string();
  if (entry.at("class") == "Model") return make_model_of(entry.at("model"), name);
  Json config = entry.at("config");
  config["name"] = name;
  const Layer layer = make_layer_of(entry.at("class").as_string(), config);
  if (!entry.value("trainable", true)) layer.set_trainable(false);
  return layer;
}

Model make_sequential(const Json& description, const std::string& name) {
  std::vector<Layer> layers = {Input(shape_of(description.at("inputs").at(0).at(1)))};
  for (const Json& entry : description.at("layers")) layers.push_back(make_entry(entry));
  return Sequential(layers, {.name = name});
}

Model make_functional(const Json& description, const std::string& name) {
  std::map<std::string, Tensor> values;
  std::map<std::string, Layer> made;
  ModelConfig config;
  config.name = name;
  for (const Json& input : description.at("inputs")) {
    InputConfig input_config;
    input_config.shape = shape_of(input.at(1));
    input_config.name = input.at(0).as_string();
    config.inputs.push_back(Input(input_config).tensor());
    values[input_config.name] = config.inputs.back();
  }
  for (const Json& entry : description.at("layers")) {
    const std::string layer_name = entry.at("name").as_string();
    if (!made.contains(layer_name)) made[layer_name] = make_entry(entry);
    Tensors arguments;
    for (const Json& source : entry.at("inbound")) arguments.push_back(values.at(source.as_string()));
    values[entry.value("output", layer_name)] = made[layer_name](arguments);
  }
  for (const Json& output : description.at("outputs"))
    config.outputs.push_back(values.at(output.as_string()));
  return Model(config);
}

Loss make_loss(const Json& loss) {
  if (loss.is_string()) return Loss(loss.get<std::string>());
  return make_one<Loss>(Losses{}, loss.at("class").as_string(), loss.at("config"));
}

Metric make_metric(const Json& metric) {
  if (metric.is_string()) return Metric(metric.get<std::string>());
  return make_one<Metric>(Metrics{}, metric.at("class").as_string(), metric.at("config"));
}

/// One object, a list of up to three, or a map by output.
template <class T, class Make>
PerOutput<T> per_output(const Json& given, Make make) {
  if (given.is_array()) {
    const size_t n = given.size();
    if (n == 1) return {make(given[0])};
    if (n == 2) return {make(given[0]), make(given[1])};
    if (n == 3) return {make(given[0]), make(given[1]), make(given[2])};
    throw std::runtime_error("golden data: a list of " + std::to_string(n));
  }
  if (!given.is_object() || given.contains("class")) return make(given);
  const Json& y = given.at("y");
  return {{"y", make(y)}, {"z", make(given.at("z"))}};
}

std::vector<Metric> metric_list(const Json& metrics) {
  std::vector<Metric> result;
  for (const Json& metric : metrics) result.push_back(make_metric(metric));
  return result;
}

void set_metrics(CompileConfig& config, const Json& metrics, const Json& description) {
  if (metrics.is_object()) {
    for (const auto& [output, list] : metrics.items()) config.metrics_by_output[output] = metric_list(list);
  } else if (!metrics.empty() && metrics.at(0).is_array()) {
    for (size_t i = 0; i < metrics.size(); ++i)
      config.metrics_by_output[description.at("outputs").at(i).as_string()] = metric_list(metrics.at(i));
  } else {
    config.metrics = per_output<Metric>(metrics, make_metric);
  }
}

}  // namespace

Model make_model_of(const Json& description, const std::string& name) {
  return description.at("kind") == "sequential" ? make_sequential(description, name)
                                                : make_functional(description, name);
}

CompileConfig make_compile_config(const Json& arguments, const Json& description) {
  CompileConfig config;
  if (arguments.contains("optimizer")) {
    const Json& optimizer = arguments.at("optimizer");
    config.optimizer = optimizer.is_string()
                           ? Optimizer(optimizer.get<std::string>())
                           : make_optimizer(optimizer.at("class").as_string(), optimizer.at("config"));
  }
  config.loss = per_output<Loss>(arguments.at("loss"), make_loss);
  if (arguments.contains("loss_weights"))
    config.loss_weights =
        per_output<double>(arguments.at("loss_weights"), [](const Json& w) { return w.get<double>(); });
  if (arguments.contains("metrics")) set_metrics(config, arguments.at("metrics"), description);
  if (arguments.contains("weighted_metrics")) {
    Json flat = Json::array();
    for (const Json& entry : arguments.at("weighted_metrics"))
      flat.push_back(entry.is_array() ? entry.at(0) : entry);
    config.weighted_metrics = per_output<Metric>(flat, make_metric);
  }
  config.steps_per_execution = arguments.value("steps_per_execution", int64_t{1});
  return config;
}

void set_initial_weights(const Model& model, const Json& weights) {
  const Variables variables = model.weights();
  ASSERT_EQ(variables.size(), weights.size());
  for (size_t i = 0; i < variables.size(); ++i)
    ASSERT_EQ(variables[i].name(), weights.at(i).at("name").get<std::string>()) << "weight " << i;
  model.set_weights(tensors(weights));
}

void expect_weights(const Model& model, const Json& expected, const std::string& what,
                    const Tolerance& tolerance) {
  const Variables variables = model.weights();
  ASSERT_EQ(variables.size(), expected.size()) << what;
  for (size_t i = 0; i < variables.size(); ++i)
    expect_close(variables[i].value(), expected.at(i), what + " " + variables[i].path(), tolerance);
}

void expect_optimizer_state(const Optimizer& optimizer, const Json& expected, const std::string& what,
                            const Tolerance& tolerance) {
  const std::vector<OptimizerVariable> state = optimizer.node().variables_for_file();
  ASSERT_EQ(state.size(), expected.size()) << what;
  for (size_t i = 0; i < state.size(); ++i) {
    const std::string name = expected.at(i).at("name").as_string();
    EXPECT_EQ(state[i].name, name) << what;
    EXPECT_EQ(name_of(state[i].value.dtype()), expected.at(i).value("dtype", "float32"))
        << what << " " << name;
    expect_close(state[i].value, expected.at(i), what + " " + name, tolerance);
  }
}

}  // namespace nyala::golden
