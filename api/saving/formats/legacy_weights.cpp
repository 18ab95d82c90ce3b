// Keras 1 and 2 .h5: layers in the model's order with lists of arrays. Arrays are put to variables by name
// where a layer holds others and all names are found, else by place; the orders that optimizers' slots have
// had over the versions are tried one after the other, the first whose shapes fit is taken.
#include <nyala/api/saving/formats/legacy_weights.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <string>

#include <nyala/api/saving/arrays/stored_array.h>
#include <nyala/api/saving/weights/read_budget.h>
#include <nyala/api/saving/weights/stored_value.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/training/optimizer_variables.h>
#include <nyala/api/optimizers/base/update_formula.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

namespace {

/// One array of a file.
struct Stored {
  std::string name;  // "conv2d/kernel:0"
  Tensor value;
};

struct StoredLayer {
  std::string name;
  StoredArrays arrays;
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

StoredArray stored_array(const std::string& name, const hdf5::Dataset& dataset) {
  return {name, dataset.shape(), dataset.dtype(), [value = StoredValue(dataset)] { return value.read(); }};
}

StoredArray stored_within(const std::string& name, const hdf5::Dataset& dataset, ReadBudget& budget) {
  budget.spend(dataset.byte_size(), "dataset " + detail::in_quotes(dataset.path()));
  return stored_array(name, dataset);
}

Tensor read_within(const hdf5::Dataset& dataset, ReadBudget& budget) {
  budget.spend(dataset.byte_size(), "dataset " + detail::in_quotes(dataset.path()));
  return read_tensor(dataset);
}

std::vector<StoredLayer> read_layers(const hdf5::Group& root, const std::string& file_name) {
  std::vector<StoredLayer> layers;
  ReadBudget budget({root}, file_name);
  const hdf5::Group group = weights_group(root);
  for (const std::string& name : names_in(group.attributes(), "layer_names")) {
    StoredLayer layer{name, {}};
    try {
      const hdf5::Group own = group.group(name);
      for (const std::string& weight : names_in(own.attributes(), "weight_names"))
        layer.arrays.push_back(stored_within(weight, own.dataset(weight), budget));
    } catch (const NotFoundError& error) {
      throw FileFormatError(file_name + ": layer " + detail::in_quotes(name) +
                            " is listed, but not there: " + error.what());
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

StoredArray array_of(const std::string& name, const Tensor& value) {
  return {name, value.shape(), value.dtype(), [value] { return value; }};
}

/// Gates of Keras 1 as one kernel, one recurrent kernel and one bias. `order` are places of today's gates in
/// the file.
void join_gates(StoredArrays& arrays, const std::vector<size_t>& order) {
  StoredArrays joined;
  for (size_t part = 0; part < 3; ++part) {
    Tensors gates;
    for (const size_t gate : order) gates.push_back(arrays[3 * gate + part].read());
    joined.push_back(array_of(arrays[part].name, ops::concatenate(gates, -1)));
  }
  arrays = std::move(joined);
}

void upgrade_arrays(const Layer& layer, StoredArrays& arrays) {
  const std::string name = layer.class_name();
  if (name == "LSTM" && arrays.size() == 12) join_gates(arrays, {0, 2, 1, 3});  // i c f o -> i f c o
  if (name == "GRU" && arrays.size() == 9) join_gates(arrays, {0, 1, 2});
  const Variables variables = layer.weights();
  for (size_t i = 0; i < arrays.size() && i < variables.size(); ++i) {
    const Shape &found = arrays[i].shape, &wanted = variables[i].shape();
    const bool one_axis_more = found.rank() == wanted.rank() + 1 &&
                               found.num_elements() == wanted.num_elements() &&
                               name.find("Conv1D") != std::string::npos;
    const bool two_biases =
        name == "LSTM" && found.rank() == 1 && wanted.rank() == 1 && found[0] == 2 * wanted[0];
    if (one_axis_more) arrays[i] = array_of(arrays[i].name, ops::reshape(arrays[i].read(), wanted));
    if (!two_biases) continue;
    const Tensor both = arrays[i].read();
    arrays[i] = array_of(arrays[i].name, both.rows(0, wanted[0]) + both.rows(wanted[0], wanted[0]));
  }
}

std::vector<Variable> variables_by_training(const Layer& layer) {
  Variables all = layer.trainable_weights();
  for (const Variable& variable : layer.non_trainable_weights()) all.push_back(variable);
  return all;
}

/// Which variable each array is: by names where the layer holds others and all of them are found, else by
/// place.
Variables targets_of(const Layer& layer, const StoredArrays& arrays) {
  if (layer.node().sublayers().empty()) return layer.weights();
  std::map<std::pair<std::string, std::string>, Variable> by_name;
  bool unique = true;
  for (const Variable& variable : layer.weights())
    unique =
        by_name.emplace(std::pair(parent_of(variable.path()), variable.name()), variable).second && unique;
  Variables targets;
  for (const StoredArray& array : arrays) {
    const auto found = by_name.find({parent_of(array.name), leaf_of(array.name)});
    if (found != by_name.end()) targets.push_back(found->second);
  }
  return unique && targets.size() == arrays.size() ? targets : variables_by_training(layer);
}

using Assignments = std::vector<std::pair<Variable, StoredArray>>;

void assign_layer(const Layer& layer, StoredLayer stored, const std::string& file_name, Assignments& out) {
  const std::string where =
      file_name + ": layer " + detail::in_quotes(layer.name()) + " (" + layer.class_name() + "): ";
  upgrade_arrays(layer, stored.arrays);
  const Variables targets = targets_of(layer, stored.arrays);
  if (targets.size() != stored.arrays.size())
    throw ShapeError(where + "expected " + std::to_string(targets.size()) + " weights, the file has " +
                     std::to_string(stored.arrays.size()) + " under " + detail::in_quotes(stored.name));
  Assignments own;
  for (size_t i = 0; i < targets.size(); ++i) {
    const StoredArray& array = stored.arrays[i];
    if (array.shape != targets[i].shape())
      throw ShapeError(where + "weight " + detail::in_quotes(targets[i].name()) + ": expected shape " +
                       targets[i].shape().to_string() + ", the file has " + array.shape.to_string() + " (" +
                       detail::in_quotes(array.name) + ")");
    own.emplace_back(targets[i], array);
  }
  out.insert(out.end(), own.begin(), own.end());
}

/// Weights of the model itself, which are no layer's.
void assign_own(const Model& model, const hdf5::Group& weights, const std::string& file_name,
                Assignments& out) {
  Variables own = model.node().own_weights();
  for (const Variable& state : model.node().own_state()) own.push_back(state);
  const char* name = "top_level_model_weights";
  if (own.empty() || !weights.has_group(name)) return;
  const hdf5::Group group = weights.group(name);
  const std::vector<std::string> names = names_in(group.attributes(), "weight_names");
  if (names.size() != own.size())
    throw ShapeError(file_name + ": model " + detail::in_quotes(model.name()) + " has " +
                     std::to_string(own.size()) + " weights of its own, the file has " +
                     std::to_string(names.size()));
  for (size_t i = 0; i < own.size(); ++i) {
    const StoredArray value = stored_array(names[i], group.dataset(names[i]));
    if (value.shape != own[i].shape())
      throw ShapeError(file_name + ": weight " + detail::in_quotes(own[i].path()) + ": expected shape " +
                       own[i].shape().to_string() + ", the file has " + value.shape.to_string());
    out.emplace_back(own[i], value);
  }
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
  const auto found = std::find_if(stored.begin(), stored.end(),
                                  [&](const StoredLayer& layer) { return layer.name == name; });
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
    throw StateError(file_name + ": model " + detail::in_quotes(model.name()) +
                     " is not built; call build(shape) or fit first");
  const std::vector<StoredLayer> stored = read_layers(root, file_name);
  const std::vector<Layer> layers = layers_with_weights(model);
  const bool by_name = config.by_name || same_names(layers, stored);
  if (!by_name && stored.size() != layers.size())
    throw ShapeError(file_name + ": the file has " + std::to_string(stored.size()) +
                     " layers with weights, model " + detail::in_quotes(model.name()) + " has " +
                     std::to_string(layers.size()));
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
  assign_own(model, weights_group(root), file_name, assignments);
  for (const auto& [variable, value] : assignments) load_array(variable, value);
  return report;
}

namespace {

/// Where each slot of our order (all slots of a variable together) stands in a file.
using SlotOrder = std::vector<size_t>;

/// Keras before 3 (and tf.keras before 2.11) files one slot of all variables after the other; `ranks` is the
/// order of the variables in it.
SlotOrder slot_by_slot(size_t slots, const std::vector<size_t>& ranks) {
  SlotOrder order;
  for (size_t variable = 0; variable < ranks.size(); ++variable)
    for (size_t slot = 0; slot < slots; ++slot) order.push_back(slot * ranks.size() + ranks[variable]);
  return order;
}

/// Keras until 2.0 sorts variables by name, "dense_1/kernel", or in a session that had loaded the model
/// "dense_1_1/kernel": `infix` is what stands between the layer's name and the slash.
std::vector<size_t> ranks_by_name(const Variables& variables, const std::string& infix) {
  std::vector<size_t> sorted(variables.size()), ranks(variables.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::sort(sorted, {}, [&](size_t i) {
    std::string path = variables[i].path();
    return path.insert(std::min(path.find('/'), path.size()), infix);
  });
  for (size_t rank = 0; rank < sorted.size(); ++rank) ranks[sorted[rank]] = rank;
  return ranks;
}

bool fits(const SlotOrder& order, std::span<const Stored> slots,
          std::span<const OptimizerVariable> expected) {
  if (slots.size() != order.size() || expected.size() != order.size()) return false;
  for (size_t i = 0; i < order.size(); ++i)
    if (slots[order[i]].value.shape() != expected[i].value.shape()) return false;
  return true;
}

/// 0 for a group, whose members have them.
size_t num_slots(const BaseOptimizer& optimizer) {
  const auto* formula = dynamic_cast<const UpdateFormula*>(&optimizer);
  return formula ? formula->slot_names().size() : 0;
}

/// The first order that fits `stored`; as they stand where none does.
SlotOrder slot_order(const BaseOptimizer& optimizer, bool before_keras3, std::span<const Stored> stored,
                     std::span<const OptimizerVariable> expected) {
  SlotOrder as_they_stand(stored.size());
  std::iota(as_they_stand.begin(), as_they_stand.end(), 0);
  const Variables& variables = optimizer.variables();
  const size_t slots = num_slots(optimizer);
  std::vector<size_t> in_order(variables.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  std::vector<SlotOrder> orders{slot_by_slot(slots, in_order),
                                slot_by_slot(slots, ranks_by_name(variables, "")),
                                slot_by_slot(slots, ranks_by_name(variables, "_1"))};
  orders.insert(before_keras3 ? orders.end() : orders.begin(), as_they_stand);
  for (const SlotOrder& order : orders)
    if (fits(order, stored, expected)) return order;
  return as_they_stand;
}

/// Keras 2 files a place for the maxima of AMSGrad for each variable, whether it is used or not.
void drop_unused_maxima(std::vector<Stored>& arrays, size_t first, size_t variables) {
  if (arrays.size() != first + 3 * variables) return;
  const auto maxima = arrays.end() - static_cast<std::ptrdiff_t>(variables);
  if (std::all_of(maxima, arrays.end(), [](const Stored& s) { return s.value.shape() == Shape{1}; }))
    arrays.erase(maxima, arrays.end());
}

}  // namespace

void read_legacy_optimizer(const Model& model, const hdf5::Group& root, const std::string& file_name) {
  if (!model.compiled() || !root.has_group("optimizer_weights")) return;
  const hdf5::Group group = root.group("optimizer_weights");
  std::vector<Stored> arrays;
  ReadBudget budget({root}, file_name);
  try {
    for (const std::string& name : names_in(group.attributes(), "weight_names"))
      arrays.push_back({name, read_within(group.dataset(name), budget)});
  } catch (const NotFoundError& error) {  // Keras 3 files Adafactor's so: arrays of one name, and others not
    log(LogChannel::warning,
        file_name + ": the state of the optimizer is not whole and was left out: " + error.what());
    return;
  }
  const bool made_no_step = arrays.size() <= 2 && (arrays.empty() || arrays[0].value.num_elements() != 1 ||
                                                   arrays[0].value.item() == 0.0);
  if (made_no_step) return;
  BaseOptimizer& whole = model.optimizer().node();
  if (!whole.built()) build_optimizer(model.model_node());
  const bool has_scale = std::ranges::any_of(
      arrays, [](const Stored& array) { return array.name.find("dynamic_scale") != std::string::npos; });
  BaseOptimizer& optimizer = has_scale ? whole : without_loss_scale(whole);
  const std::vector<OptimizerVariable> now = optimizer.shared_variables_for_file();
  const bool has_rate = arrays.size() > 1 && arrays[1].name.find("learning_rate") != std::string::npos;
  const bool wants_rate = now.size() > 1 && now[1].name == "learning_rate";
  // RMSprop of Keras 1 and 2 does not file its count of steps.
  const bool has_count = arrays[0].value.rank() == 0;
  const size_t first = has_count + has_rate, first_now = wants_rate ? 2 : 1;
  if (!has_rate && num_slots(optimizer) == 2) drop_unused_maxima(arrays, first, optimizer.variables().size());
  Tensors values = {has_count ? ops::cast(arrays[0].value, DType::int64) : now[0].value};
  if (wants_rate) values.push_back(has_rate ? arrays[1].value : now[1].value);
  // tf.keras from 2.11 has a rate of its own or says "Adam/m/dense/kernel:0".
  const bool before_keras3 =
      !has_rate && arrays[0].name.ends_with(":0") && arrays[1].name.find("/m/") == std::string::npos;
  const std::span<const Stored> stored = std::span(arrays).subspan(first);
  for (size_t i : slot_order(optimizer, before_keras3, stored, std::span(now).subspan(first_now)))
    values.push_back(stored[i].value);
  load_optimizer_state(model, values, file_name, OptimizerMismatch::warn);
}

}  // namespace nyala
