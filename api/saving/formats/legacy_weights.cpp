#include <nyala/api/saving/formats/legacy_weights.h>

#include <algorithm>
#include <map>

#include <nyala/api/saving/weights_file.h>
#include <nyala/api/training/training_state.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/cast.h>
#include <nyala/backend/ops/concatenate.h>
#include <nyala/backend/ops/shape.h>

namespace nyala {

namespace {

/// One array of a file.
struct Stored {
  std::string name;  // "conv2d/kernel:0"
  Tensor value;
};

struct StoredLayer {
  std::string name;
  std::vector<Stored> arrays;
};

/// Keras splits long lists: layer_names0, layer_names1, ...
std::vector<std::string> names_in(const hdf5::Attributes& attributes, const std::string& key) {
  if (attributes.has(key)) return attributes.strings(key);
  std::vector<std::string> all;
  for (int part = 0; attributes.has(key + std::to_string(part)); ++part)
    for (std::string& name : attributes.strings(key + std::to_string(part))) all.push_back(std::move(name));
  return all;
}

hdf5::Group weights_group(const hdf5::Group& root) {
  return root.has_group("model_weights") ? root.group("model_weights") : root;
}

std::vector<StoredLayer> read_layers(const hdf5::Group& root, const std::string& file_name) {
  std::vector<StoredLayer> layers;
  const hdf5::Group group = weights_group(root);
  for (const std::string& name : names_in(group.attributes(), "layer_names")) {
    StoredLayer layer{name, {}};
    try {
      const hdf5::Group own = group.group(name);
      for (const std::string& weight : names_in(own.attributes(), "weight_names"))
        layer.arrays.push_back({weight, read_tensor(own.dataset(weight))});
    } catch (const NotFoundError& error) {
      throw FileFormatError(file_name + ": layer '" + name + "' is listed, but not there: " + error.what());
    }
    if (!layer.arrays.empty()) layers.push_back(std::move(layer));
  }
  return layers;
}

/// The last part of a name without ":0".
std::string leaf_of(const std::string& name) {
  const std::string plain = name.substr(0, name.rfind(':'));
  return plain.substr(plain.rfind('/') + 1);
}

/// The part before it.
std::string parent_of(const std::string& name) {
  const size_t end = name.rfind('/');
  if (end == std::string::npos || end == 0) return "";
  const size_t begin = name.rfind('/', end - 1);
  return name.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1));
}

/// Gates of Keras 1 as one kernel, one recurrent kernel and one bias. `order` are places of today's gates in
/// the file.
void join_gates(std::vector<Stored>& arrays, const std::vector<size_t>& order) {
  std::vector<Stored> joined;
  for (size_t part = 0; part < 3; ++part) {
    Tensors gates;
    for (const size_t gate : order) gates.push_back(arrays[3 * gate + part].value);
    joined.push_back({arrays[part].name, ops::concatenate(gates, -1)});
  }
  arrays = std::move(joined);
}

void upgrade_arrays(const Layer& layer, std::vector<Stored>& arrays) {
  const std::string name = layer.class_name();
  if (name == "LSTM" && arrays.size() == 12) join_gates(arrays, {0, 2, 1, 3});  // i c f o -> i f c o
  if (name == "GRU" && arrays.size() == 9) join_gates(arrays, {0, 1, 2});
  const Variables variables = layer.weights();
  for (size_t i = 0; i < arrays.size() && i < variables.size(); ++i) {
    const Shape &found = arrays[i].value.shape(), &wanted = variables[i].shape();
    const bool one_axis_more = found.rank() == wanted.rank() + 1 && found.num_elements() == wanted.num_elements() &&
                               name.find("Conv1D") != std::string::npos;
    const bool two_biases = name == "LSTM" && found.rank() == 1 && wanted.rank() == 1 && found[0] == 2 * wanted[0];
    if (one_axis_more) arrays[i].value = ops::reshape(arrays[i].value, wanted);
    if (two_biases)
      arrays[i].value = arrays[i].value.rows(0, wanted[0]) + arrays[i].value.rows(wanted[0], wanted[0]);
  }
}

std::vector<Variable> variables_by_training(const Layer& layer) {
  Variables all = layer.trainable_weights();
  for (const Variable& variable : layer.non_trainable_weights()) all.push_back(variable);
  return all;
}

/// Which variable each array is: by names where the layer holds others and all of them are found, else by
/// place.
Variables targets_of(const Layer& layer, const std::vector<Stored>& arrays) {
  if (layer.node().sublayers().empty()) return layer.weights();
  std::map<std::pair<std::string, std::string>, Variable> by_name;
  bool unique = true;
  for (const Variable& variable : layer.weights())
    unique = by_name.emplace(std::pair(parent_of(variable.path()), variable.name()), variable).second && unique;
  Variables targets;
  for (const Stored& array : arrays) {
    const auto found = by_name.find({parent_of(array.name), leaf_of(array.name)});
    if (found != by_name.end()) targets.push_back(found->second);
  }
  return unique && targets.size() == arrays.size() ? targets : variables_by_training(layer);
}

using Assignments = std::vector<std::pair<Variable, Tensor>>;

void assign_layer(const Layer& layer, StoredLayer stored, const std::string& file_name, Assignments& out) {
  const std::string where = file_name + ": layer '" + layer.name() + "' (" + layer.class_name() + "): ";
  upgrade_arrays(layer, stored.arrays);
  const Variables targets = targets_of(layer, stored.arrays);
  if (targets.size() != stored.arrays.size())
    throw ShapeError(where + "expected " + std::to_string(targets.size()) + " weights, the file has " +
                     std::to_string(stored.arrays.size()) + " under '" + stored.name + "'");
  Assignments own;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Stored& array = stored.arrays[i];
    if (array.value.shape() != targets[i].shape())
      throw ShapeError(where + "weight '" + targets[i].name() + "': expected shape " +
                       targets[i].shape().to_string() + ", the file has " + array.value.shape().to_string() +
                       " ('" + array.name + "')");
    own.emplace_back(targets[i], ops::cast(array.value, targets[i].dtype()));
  }
  out.insert(out.end(), own.begin(), own.end());
}

std::vector<Layer> layers_with_weights(const Model& model) {
  std::vector<Layer> layers;
  for (const Layer& layer : model.layers())
    if (!layer.weights().empty()) layers.push_back(layer);
  return layers;
}

bool same_names(const std::vector<Layer>& layers, const std::vector<StoredLayer>& stored) {
  return std::all_of(layers.begin(), layers.end(), [&](const Layer& layer) {
    return std::any_of(stored.begin(), stored.end(),
                       [&](const StoredLayer& other) { return other.name == layer.name(); });
  });
}

const StoredLayer* find_by_name(const std::vector<StoredLayer>& stored, const std::string& name) {
  const auto found =
      std::find_if(stored.begin(), stored.end(), [&](const StoredLayer& layer) { return layer.name == name; });
  return found == stored.end() ? nullptr : &*found;
}

}  // namespace

bool is_legacy_weights(const hdf5::Group& root) {
  const auto has_names = [](const hdf5::Group& group) {
    return group.attributes().has("layer_names") || group.attributes().has("layer_names0");
  };
  return has_names(root) || (root.has_group("model_weights") && has_names(root.group("model_weights")));
}

LoadReport read_legacy_weights(const Model& model, const hdf5::Group& root, const std::string& file_name,
                               const LoadWeightsConfig& config) {
  if (!model.built())
    throw StateError(file_name + ": model '" + model.name() + "' is not built; call build(shape) or fit first");
  const std::vector<StoredLayer> stored = read_layers(root, file_name);
  const std::vector<Layer> layers = layers_with_weights(model);
  const bool by_name = config.by_name || same_names(layers, stored);
  if (!by_name && stored.size() != layers.size())
    throw ShapeError(file_name + ": the file has " + std::to_string(stored.size()) +
                     " layers with weights, model '" + model.name() + "' has " + std::to_string(layers.size()));
  LoadReport report;
  Assignments assignments;
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool skipped = std::find(config.objects_to_skip.begin(), config.objects_to_skip.end(), layers[i]) !=
                         config.objects_to_skip.end();
    const StoredLayer* found = by_name ? find_by_name(stored, layers[i].name()) : &stored[i];
    if (!found) report.missing.push_back(layers[i].name());
    if (skipped || !found) continue;
    try {
      assign_layer(layers[i], *found, file_name, assignments);
      report.loaded.push_back(layers[i].name());
    } catch (const ShapeError&) {
      if (!config.skip_mismatch) throw;
      report.mismatched.push_back(layers[i].name());
    }
  }
  for (const StoredLayer& layer : stored) {
    const auto is_it = [&](const Layer& own) { return own.name() == layer.name; };
    if (by_name && std::none_of(layers.begin(), layers.end(), is_it)) report.unexpected.push_back(layer.name);
  }
  for (const auto& [variable, value] : assignments) variable.assign(value);
  return report;
}

void read_legacy_optimizer(const Model& model, const hdf5::Group& root, const std::string& file_name) {
  if (!model.compiled() || !root.has_group("optimizer_weights")) return;
  const hdf5::Group group = root.group("optimizer_weights");
  OptimizerNode& optimizer = model.optimizer().node();
  if (!optimizer.built()) build_optimizer(model.model_node());
  std::vector<Stored> arrays;
  for (const std::string& name : names_in(group.attributes(), "weight_names"))
    arrays.push_back({name, read_tensor(group.dataset(name))});
  if (arrays.empty()) return;
  const size_t variables = optimizer.variables().size(), slots = optimizer.slot_names().size();
  const bool has_rate = arrays.size() > 1 && arrays[1].name.find("learning_rate") != std::string::npos;
  const bool grouped = !has_rate && (arrays[0].name.find("iter") != std::string::npos) &&
                       arrays.back().name.find("/v:0") != std::string::npos && slots == 2 &&
                       arrays.size() == 1 + 2 * variables && arrays[1].name.find("/m:0") != std::string::npos &&
                       (variables < 2 || arrays[2].name.find("/m:0") != std::string::npos);
  Tensors values = {ops::cast(arrays[0].value, DType::int64)};
  std::vector<OptimizerVariable> now = optimizer.variables_for_file();
  const bool wants_rate = now.size() > 1 && now[1].name == "learning_rate";
  if (wants_rate) values.push_back(has_rate ? arrays[1].value : now[1].value);
  const size_t first = has_rate ? 2 : 1;
  for (size_t i = first; i < arrays.size(); ++i) {
    const size_t k = i - first;
    values.push_back(grouped ? arrays[first + (k % 2) * variables + k / 2].value : arrays[i].value);
  }
  try {
    optimizer.load_variables(values);
  } catch (const InvalidArgumentError& error) {
    log(LogChannel::warning,
        file_name + ": the state of the optimizer does not fit and was left out: " + error.what());
  }
}

}  // namespace nyala
