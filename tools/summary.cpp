#include <iostream>
#include <memory>

#include <nyala/files/json/strict_json.h>
#include <nyala/tools/command.h>

namespace nyala::tools {

using namespace nyala::detail;

namespace {

struct SummaryOptions {
  std::string model;
  bool json = false, expand_nested = false;
};

int64_t count(const Variables& variables) {
  int64_t total = 0;
  for (const Variable& variable : variables) total += variable.shape().num_elements();
  return total;
}

Json layer_json(const Layer& layer) {
  // An InputLayer is never called: its shape is that of its tensor.
  const Shapes shapes =
      is_input_layer(layer.node()) ? Shapes{layer.output().shape()} : layer.node().output_shapes();
  Json shape;
  if (shapes.size() == 1)
    shape = shape_to_json(shapes[0]);
  else
    for (const Shape& each : shapes) shape.push_back(shape_to_json(each));
  return {{"name", layer.name()},
          {"class_name", layer.class_name()},
          {"output_shape", shape},
          {"params", count(layer.weights())}};
}

Json model_json(const Model& model) {
  Json layers = Json::array(), weights = Json::array();
  for (const Layer& layer : model.layers()) layers.push_back(layer_json(layer));
  for (const Variable& weight : model.weights())
    weights.push_back({{"path", weight.path()},
                       {"shape", shape_to_json(weight.shape())},
                       {"dtype", std::string(name_of(weight.dtype()))}});
  return {{"name", model.name()},
          {"params", count(model.weights())},
          {"trainable_params", count(model.trainable_weights())},
          {"non_trainable_params", count(model.non_trainable_weights())},
          {"layers", layers},
          {"weights", weights}};
}

void summary(const SummaryOptions& options) {
  const Model model = load_model(options.model, {.compile = !options.json});
  if (options.json)
    std::cout << model_json(model).dump() << "\n";
  else
    model.summary({.expand_nested = options.expand_nested});
}

}  // namespace

void add_summary(CLI::App& app) {
  const auto options = std::make_shared<SummaryOptions>();
  CLI::App* command = app.add_subcommand("summary", "The table of layers that Keras prints.");
  command->add_option("model", options->model, "a .keras or whole-model .h5 file")->required();
  command->add_flag("--json", options->json, "one JSON object with layers and weights");
  command->add_flag("--expand-nested", options->expand_nested, "show the layers of models inside");
  command->footer("Example:\n  nyala summary model.keras --expand-nested");
  command->callback([options] { summary(*options); });
}

}  // namespace nyala::tools
