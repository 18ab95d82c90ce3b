// Arrays by a variable's path. Automatic names count on from model to model, so three ways are tried: equal
// paths; paths below the two models' own names; and, where there are as many arrays as variables and none of
// the names fit, their order, widest dtypes first as such files have them.
#include <nyala/api/saving/weights/named_weights.h>

#include <algorithm>
#include <map>
#include <set>

#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/weights_walk.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

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

/// "dense/kernel" of "sequential/dense/kernel" where `root` is "sequential".
std::string inside(const std::string& root, const std::string& path) {
  return !root.empty() && path.starts_with(root + "/") ? path.substr(root.size() + 1) : path;
}

/// The name of the model that was saved, where all of its layers stand below it; else empty.
std::string root_of(const StoredArrays& arrays) {
  if (arrays.empty()) return {};
  const std::string root = arrays[0].name.substr(0, arrays[0].name.find('/'));
  const bool holds_all = std::all_of(arrays.begin(), arrays.end(), [&](const StoredArray& array) {
    const std::string path = inside(root, array.name);
    return path != array.name && path.find('/') != std::string::npos;  // a layer and its weight
  });
  return holds_all ? root : std::string();
}

/// By path below the models, `root` of the variables and `stored_root` of the arrays.
Pairs by_path(const Variables& variables, const std::string& root, const StoredArrays& arrays,
              const std::string& stored_root) {
  std::map<std::string, const StoredArray*> stored;
  for (const auto& array : arrays) stored[inside(stored_root, array.name)] = &array;
  Pairs pairs;
  for (const Variable& variable : variables) {
    const auto found = stored.find(inside(root, variable.path()));
    pairs.emplace_back(variable, found == stored.end() ? nullptr : found->second);
  }
  return pairs;
}

bool is_found(const std::pair<Variable, const StoredArray*>& pair) { return pair.second; }

// Numbers in automatic names count on: without by_name the names below two models pair them only where all
// do.
Pairs pairs_of(const Model& model, const StoredArrays& arrays, bool by_name) {
  const Variables variables = model.weights();
  const Pairs same = by_path(variables, "", arrays, "");
  const bool any = std::any_of(same.begin(), same.end(), is_found);
  if (any || (!by_name && arrays.size() != variables.size())) return same;
  const Pairs below = by_path(variables, model.name(), arrays, root_of(arrays));
  return by_name || std::all_of(below.begin(), below.end(), is_found) ? below : in_order(variables, arrays);
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
  const Pairs pairs = pairs_of(template_of(model), arrays, config.by_name);
  LoadReport report;
  std::set<std::string> used;
  std::vector<std::pair<Variable, StoredArray>> assignments;
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
      assignments.emplace_back(variable, read_ahead(*array));
      report.loaded.push_back(variable.path());
    } catch (const ShapeError&) {
      if (!config.skip_mismatch) rethrow_with_prefix(file_name + ": ");
      report.mismatched.push_back(variable.path());
    }
  }
  for (const StoredArray& array : arrays)
    if (!used.contains(array.name)) report.unexpected.push_back(array.name);
  if (config.by_name && used.empty() && !pairs.empty())
    throw NotFoundError(file_name + ": by_name: no layer of model " + in_quotes(model.name()) +
                        " has the name of one of the file; expected names like that of " +
                        in_quotes(arrays.empty() ? "" : arrays[0].name) + ", received " +
                        in_quotes(pairs[0].first.path()));
  for (const auto& [variable, array] : assignments) load_array(variable, array);
  return report;
}

}  // namespace nyala
