#include <set>

#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/formats/legacy_weights.h>
#include <nyala/api/saving/hdf5/file.h>
#include <nyala/api/saving/weights_file.h>
#include <nyala/api/saving/weights_walk.h>
#include <nyala/api/training/training_state.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/cast.h>

namespace nyala {

namespace {

constexpr const char* kOptimizerGroup = "optimizer/vars";

std::string vars_of(const std::string& path) { return path.empty() ? "vars" : path + "/vars"; }

void write_tensor(hdf5::Writer& writer, const std::string& path, const Tensor& value) {
  std::vector<std::byte> bytes(value.bytes());
  value.copy_to_host(bytes.data());
  writer.write_dataset(path, value.dtype(), value.shape(), bytes);
}

void write_group(hdf5::Writer& writer, const WeightsGroup& group) {
  const std::string path = vars_of(group.path);
  writer.create_group(path);
  writer.set_attribute(path, "name", group.name);
  for (size_t i = 0; i < group.variables.size(); ++i)
    write_tensor(writer, path + "/" + std::to_string(i), group.variables[i].value());
}

/// What Keras 2.12 to 2.14 called a path with "layers" in it.
std::string old_path_of(std::string path) {
  const std::string today = "layers", old = "_layer_checkpoint_dependencies";
  for (size_t at = 0; (at = path.find(today, at)) != std::string::npos; at += old.size())
    path.replace(at, today.size(), old);
  return path;
}

/// The group of the variables in the file, under today's or the old path. Throws NotFoundError.
hdf5::Group find_group(const hdf5::Group& root, const std::string& path) {
  if (root.has_group(path)) return root.group(path);
  const std::string old_path = old_path_of(path);
  if (root.has_group(old_path)) return root.group(old_path);
  throw NotFoundError("the file has no such group");
}

std::string count_of_variables(size_t count) {
  return std::to_string(count) + (count == 1 ? " variable" : " variables");
}

Tensors read_values(const hdf5::Group& stored, const Variables& variables) {
  const size_t count = stored.names().size();
  if (count != variables.size())
    throw ShapeError("expected " + count_of_variables(variables.size()) + ", the file has " +
                     count_of_variables(count));
  Tensors values;
  for (size_t i = 0; i < variables.size(); ++i) {
    const hdf5::Dataset dataset = stored.dataset(std::to_string(i));
    const Variable& variable = variables[i];
    if (dataset.shape() != variable.shape())
      throw ShapeError("variable '" + variable.name() + "': expected shape " + variable.shape().to_string() +
                       ", the file has " + dataset.shape().to_string());
    values.push_back(ops::cast(read_tensor(dataset), variable.dtype()));
  }
  return values;
}

Tensors read_group(const hdf5::Group& root, const WeightsGroup& group, const std::string& file_name) {
  if (group.variables.empty()) return {};
  try {
    return read_values(find_group(root, vars_of(group.path)), group.variables);
  } catch (const Error&) {
    rethrow_with_prefix(file_name + ": layer '" + group.name + "' (" + group.layer.class_name() +
                        "), group '/" + vars_of(group.path) + "': ");
  }
}

/// Groups with variables that no layer of the model asks for: the file is perhaps another model's.
std::vector<std::string> unread_groups(const hdf5::Group& root, const std::vector<WeightsGroup>& groups) {
  std::set<std::string> known;
  for (const WeightsGroup& group : groups)
    for (const std::string& path : {vars_of(group.path), old_path_of(vars_of(group.path))})
      known.insert("/" + path);
  std::set<std::string> unread;
  for (const std::string& path : root.dataset_paths()) {
    const std::string parent = path.substr(0, path.rfind('/'));
    const bool of_a_layer =
        !parent.starts_with("/optimizer/") && !parent.starts_with("/" + std::string(kCheckpointGroup));
    if (of_a_layer && !known.contains(parent)) unread.insert(parent);
  }
  return {unread.begin(), unread.end()};
}

void warn_of(const std::vector<std::string>& unread, const std::string& file_name) {
  if (!unread.empty())
    log(LogChannel::warning,
        file_name + ": " + std::to_string(unread.size()) +
            " group(s) with variables have no layer in the model and were left out, the first is '" + unread[0] +
            "'");
}

/// The layers and all that they hold.
std::set<const LayerNode*> with_sublayers(const std::vector<Layer>& layers) {
  std::set<const LayerNode*> all;
  std::vector<Layer> open = layers;
  while (!open.empty()) {
    const Layer layer = open.back();
    open.pop_back();
    if (!all.insert(&layer.node()).second) continue;
    for (const auto& [name, sublayer] : layer.node().sublayers()) open.push_back(sublayer);
  }
  return all;
}

/// The optimizer's state in the file, or nothing where there is none.
Tensors read_optimizer(const hdf5::Group& root) {
  Tensors values;
  if (!root.has_group(kOptimizerGroup)) return values;
  const hdf5::Group stored = root.group(kOptimizerGroup);
  for (size_t i = 0; i < stored.names().size(); ++i)
    values.push_back(read_tensor(stored.dataset(std::to_string(i))));
  return values;
}

void load_optimizer(const Model& model, const Tensors& values, const std::string& file_name,
                    OptimizerMismatch mismatch) {
  constexpr size_t kUnused = 2;  // iteration and rate of an optimizer that never made a step
  if (!model.compiled() || values.size() <= kUnused) return;
  OptimizerNode& optimizer = model.optimizer().node();
  if (!optimizer.built()) build_optimizer(model.model_node());
  try {
    optimizer.load_variables(values);
    // Random draws go on where the training in the file had come to; a Checkpoint knows it exactly.
    model.model_node().training->train_step = ops::cast(values[0], DType::int64).to_vector<int64_t>().at(0);
  } catch (const InvalidArgumentError& error) {
    if (mismatch == OptimizerMismatch::fail) rethrow_with_prefix(file_name + ": ");
    log(LogChannel::warning,
        file_name + ": the state of the optimizer does not fit and was left out: " + error.what());
  }
}

void check_built(const Model& model, const std::string& what) {
  if (!model.built())
    throw StateError(what + ": model '" + model.name() + "' is not built; call build(shape) or fit first");
}

}  // namespace

Tensor read_tensor(const hdf5::Dataset& dataset) {
  const Tensor value = Tensor::empty(dataset.shape(), dataset.dtype());
  dataset.read({static_cast<std::byte*>(value.raw()), value.bytes()});
  return value;
}

void write_weights(const Model& model, hdf5::Writer& writer) {
  check_built(model, "save_weights");
  for (const WeightsGroup& group : walk_weights(model)) write_group(writer, group);
  if (!model.compiled()) return;
  const OptimizerNode& optimizer = model.optimizer().node();
  writer.create_group(kOptimizerGroup);
  writer.set_attribute(kOptimizerGroup, "name", optimizer.name());
  const std::vector<OptimizerVariable> state = optimizer.variables_for_file();
  for (size_t i = 0; i < state.size(); ++i)
    write_tensor(writer, std::string(kOptimizerGroup) + "/" + std::to_string(i), state[i].value);
}

// The optimizer comes before the weights since it may still refuse.
LoadReport read_weights(const Model& model, const hdf5::Group& root, const std::string& file_name,
                        const LoadWeightsConfig& config, OptimizerMismatch mismatch) {
  check_built(model, file_name);
  if (config.by_name)
    throw InvalidArgumentError(file_name + ": by_name is for files that keep weights by layer name; this one "
                                           "keeps them by structure");
  const std::vector<WeightsGroup> groups = walk_weights(model);
  const std::set<const LayerNode*> skipped = with_sublayers(config.objects_to_skip);
  LoadReport report;
  std::vector<std::pair<Variable, Tensor>> assignments;
  for (const WeightsGroup& group : groups) {
    if (group.variables.empty() || skipped.contains(&group.layer.node())) continue;
    try {
      const Tensors values = read_group(root, group, file_name);
      for (size_t i = 0; i < values.size(); ++i) assignments.emplace_back(group.variables[i], values[i]);
      report.loaded.push_back(group.path);
    } catch (const NotFoundError&) {
      if (!config.skip_mismatch) throw;
      report.missing.push_back(group.path);
    } catch (const ShapeError&) {
      if (!config.skip_mismatch) throw;
      report.mismatched.push_back(group.path);
    }
  }
  report.unexpected = unread_groups(root, groups);
  warn_of(report.unexpected, file_name);
  load_optimizer(model, read_optimizer(root), file_name, mismatch);
  for (const auto& [variable, value] : assignments) variable.assign(value);
  return report;
}

std::string LoadReport::to_string() const {
  std::string text = std::to_string(loaded.size()) + " layers loaded";
  for (const auto& [what, list] : {std::pair{"missing", &missing}, {"of another shape", &mismatched},
                                   {"unexpected", &unexpected}})
    if (!list->empty()) text += ", " + std::to_string(list->size()) + " " + what + " (first: " + list->front() + ")";
  return text;
}

void Model::save_weights(const std::string& path) const {
  if (!path.ends_with(".weights.h5"))
    throw InvalidArgumentError("save_weights: expected a path that ends with '.weights.h5', received '" +
                               path + "'");
  const SharedUse use(model_node(), "save_weights");
  hdf5::Writer writer;
  write_weights(*this, writer);
  writer.save(path);
}

LoadReport Model::load_weights(const std::string& path, const LoadWeightsConfig& config) const {
  const ExclusiveUse alone(model_node(), "load_weights");
  const StoredModel stored = read_stored_model(path);
  const hdf5::Group& root = stored.file->root();
  if (is_legacy_weights(root)) return read_legacy_weights(*this, root, stored.name, config);
  return read_weights(*this, root, stored.file->name(), config);
}

}  // namespace nyala
