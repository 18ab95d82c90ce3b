#include <nyala/tools/class_weight.h>

#include <charconv>
#include <cmath>
#include <optional>

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/files/json/strict_json.h>

namespace nyala::tools {

using namespace nyala::detail;

namespace {

[[noreturn]] void throw_no_weights(const std::string& text, const std::string& what) {
  throw InvalidArgumentError("--class-weight: expected JSON such as {\"0\": 1.0, \"1\": 2.5}, received " +
                             in_quotes(text) + what);
}

std::optional<int64_t> class_of(const std::string& name) {
  int64_t label = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), label);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(label) : std::nullopt;
}

Json object_of(const std::string& text) {
  Json json;
  try {
    json = parse_json(text, "--class-weight", {.values = kFreeJsonValues, .unique_keys = true});
  } catch (const FileFormatError& error) {
    throw InvalidArgumentError(error.what());
  }
  if (!json.is_object()) throw_no_weights(text, "");
  return json;
}

std::string loss_name(const Model& model) {
  const PerOutput<Loss>& loss = model.model_node().compiled_training().config.loss;
  if (!loss.list().empty()) return loss.list()[0].name();
  return loss.named().empty() ? "" : loss.named().begin()->second.name();
}

/// How many classes the output stands for; nothing where it is no classifier's.
std::optional<int64_t> num_classes(const Model& model) {
  const Tensors& outputs = model.model_node().outputs();
  if (outputs.size() != 1 || outputs[0].rank() != 2) return std::nullopt;
  const int64_t units = outputs[0].shape()[1];
  if (units == None) return std::nullopt;
  if (units > 1) return units;
  return loss_name(model).starts_with("binary_") ? std::optional<int64_t>(2) : std::nullopt;
}

}  // namespace

ClassWeight class_weight_of(const std::string& text, const Model& model) {
  ClassWeight weights;
  if (text.empty()) return weights;
  const std::optional<int64_t> classes = num_classes(model);
  const Json json = object_of(text);
  for (const auto& [name, weight] : json.items()) {
    const std::optional<int64_t> label = class_of(name);
    if (!label) throw_no_weights(text, ", in which " + in_quotes(name) + " is no class");
    if (!weight.is_number() || !std::isfinite(weight.get<double>()))
      throw_no_weights(text, ", in which the weight of class " + name + " is no number");
    if (classes && (*label < 0 || *label >= *classes))
      throw InvalidArgumentError("--class-weight: class " + name + " does not exist: the output of model " +
                                 in_quotes(model.name()) + " is for classes 0 to " +
                                 std::to_string(*classes - 1));
    if (!weights.emplace(*label, weight.get<double>()).second)
      throw InvalidArgumentError("--class-weight: class " + std::to_string(*label) + " is there twice");
  }
  return weights;
}

}  // namespace nyala::tools
