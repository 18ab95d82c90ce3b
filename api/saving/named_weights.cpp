#include <nyala/api/saving/named_weights.h>

#include <algorithm>
#include <map>
#include <set>

#include <nyala/api/saving/weights_file.h>
#include <nyala/api/saving/weights_walk.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/cast.h>

namespace nyala {

using namespace nyala::detail;

namespace {

Model template_of(const Model& model) {
  const auto shared = model.model_node().template_model();
  return shared ? Model(shared) : model;
}

std::set<const VariableNode*> variables_of(const std::vector<Layer>& layers) {
  std::set<const VariableNode*> all;
  for (const Layer& layer : layers)
    for (const Variable& variable : layer.weights()) all.insert(&variable.node());
  return all;
}

/// Variable and its array by path; an array of null where the file has none.
using Pairs = std::vector<std::pair<Variable, const StoredArray*>>;

bool by_width(DType a, DType b) { return size_of(a) > size_of(b); }

Pairs in_order(Variables variables, const StoredArrays& arrays) {
  std::vector<const StoredArray*> stored;
  for (const auto& array : arrays) stored.push_back(&array);
  std::stable_sort(stored.begin(), stored.end(),
                   [](auto* a, auto* b) { return by_width(a->dtype, b->dtype); });
  std::stable_sort(variables.begin(), variables.end(),
                   [](const Variable& a, const Variable& b) { return by_width(a.dtype(), b.dtype()); });
  Pairs pairs;
  for (size_t i = 0; i < variables.size(); ++i) pairs.emplace_back(variables[i], stored[i]);
  return pairs;
}

Pairs pairs_of(const Variables& variables, const StoredArrays& arrays, bool by_name) {
  std::map<std::string, const StoredArray*> by_path;
  for (const auto& array : arrays) by_path[array.name] = &array;
  Pairs pairs;
  bool any = false;
  for (const Variable& variable : variables) {
    const auto found = by_path.find(variable.path());
    pairs.emplace_back(variable, found == by_path.end() ? nullptr : found->second);
    any = any || pairs.back().second;
  }
  return any || by_name || arrays.size() != variables.size() ? pairs : in_order(variables, arrays);
}

void check_shape(const Variable& variable, const StoredArray& array) {
  if (array.shape != variable.shape())
    throw ShapeError("variable " + in_quotes(variable.path()) + ": expected shape " +
                     variable.shape().to_string() + ", the file has " + array.shape.to_string() + " (" +
                     in_quotes(array.name) + ")");
}

}  // namespace

NamedArrays named_weights(const Model& model) {
  check_built(model, "save_weights");
  NamedArrays arrays;
  std::set<std::string> paths;
  for (const Variable& variable : template_of(model).weights()) {
    if (!paths.insert(variable.path()).second)
      throw InvalidArgumentError("save_weights: two variables have the path " + in_quotes(variable.path()) +
                                 "; give their layers different names, or save as .weights.h5");
    arrays.emplace_back(variable.path(), variable.value().detached());
  }
  return arrays;
}

LoadReport read_named_weights(const Model& model, const StoredArrays& arrays, const std::string& file_name,
                              const LoadWeightsConfig& config) {
  check_built(model, file_name);
  const std::set<const VariableNode*> skipped = variables_of(config.objects_to_skip);
  const Pairs pairs = pairs_of(template_of(model).weights(), arrays, config.by_name);
  LoadReport report;
  std::set<std::string> used;
  std::vector<std::pair<Variable, const StoredArray*>> assignments;
  for (const auto& [variable, array] : pairs) {
    if (array) used.insert(array->name);
    if (skipped.contains(&variable.node())) continue;
    if (!array && !config.skip_mismatch && !config.by_name)
      throw NotFoundError(file_name + ": the file has no " + in_quotes(variable.path()));
    if (!array) {
      report.missing.push_back(variable.path());
      continue;
    }
    try {
      check_shape(variable, *array);
      assignments.emplace_back(variable, array);
      report.loaded.push_back(variable.path());
    } catch (const ShapeError&) {
      if (!config.skip_mismatch) rethrow_with_prefix(file_name + ": ");
      report.mismatched.push_back(variable.path());
    }
  }
  for (const StoredArray& array : arrays)
    if (!used.contains(array.name)) report.unexpected.push_back(array.name);
  for (const auto& [variable, array] : assignments) load_array(variable, *array);
  return report;
}

}  // namespace nyala
