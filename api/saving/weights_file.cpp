#include <nyala/api/saving/weights_file.h>

#include <nyala/api/saving/hdf5/file.h>
#include <nyala/api/saving/weights_walk.h>
#include <nyala/api/training/training_state.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/cast.h>

namespace nyala {

namespace {

std::string vars_of(const std::string& path) { return path.empty() ? "vars" : path + "/vars"; }

void write_tensor(hdf5::Writer& writer, const std::string& path, const Tensor& value) {
  std::vector<std::byte> bytes(value.bytes());
  value.copy_to_host(bytes.data());
  writer.write_dataset(path, value.dtype(), value.shape(), bytes);
}

Tensor read_tensor(const hdf5::Dataset& dataset) {
  const Tensor value = Tensor::empty(dataset.shape(), dataset.dtype());
  dataset.read({static_cast<std::byte*>(value.raw()), value.bytes()});
  return value;
}

void write_group(hdf5::Writer& writer, const WeightsGroup& group) {
  const std::string path = vars_of(group.path);
  writer.create_group(path);
  writer.set_attribute(path, "name", group.name);
  for (size_t i = 0; i < group.variables.size(); ++i)
    write_tensor(writer, path + "/" + std::to_string(i), group.variables[i].value());
}

/// The group's variables in the file, under today's path or under that of Keras 2.12 to 2.14.
hdf5::Group find_group(const hdf5::Group& root, const std::string& path) {
  if (root.has_group(path)) return root.group(path);
  std::string old_path = path;
  for (size_t at = 0; (at = old_path.find("layers", at)) != std::string::npos; at += 26)
    old_path.replace(at, 6, "_layer_checkpoint_dependencies");
  return root.group(root.has_group(old_path) ? old_path : path);
}

Tensors read_group(const hdf5::Group& root, const WeightsGroup& group, const std::string& file_name) {
  const std::string where = file_name + ": layer '" + group.name + "' (" + group.layer.class_name() + "), group '" +
                            vars_of(group.path) + "': ";
  Tensors values;
  try {
    const hdf5::Group stored = find_group(root, vars_of(group.path));
    const size_t count = stored.names().size();
    if (count != group.variables.size())
      throw ShapeError("expected " + std::to_string(group.variables.size()) + " variables, the file has " +
                       std::to_string(count));
    for (size_t i = 0; i < group.variables.size(); ++i) {
      const hdf5::Dataset dataset = stored.dataset(std::to_string(i));
      const Variable& variable = group.variables[i];
      if (dataset.shape() != variable.shape())
        throw ShapeError("variable '" + variable.name() + "' has shape " + variable.shape().to_string() +
                         ", the file has " + dataset.shape().to_string());
      values.push_back(ops::cast(read_tensor(dataset), variable.dtype()));
    }
  } catch (const Error&) {
    rethrow_with_prefix(where);
  }
  return values;
}

/// The optimizer's state in the file, or nothing where there is none.
std::vector<Tensor> read_optimizer(const hdf5::Group& root) {
  std::vector<Tensor> values;
  if (!root.has_group("optimizer/vars")) return values;
  const hdf5::Group stored = root.group("optimizer/vars");
  for (size_t i = 0; i < stored.names().size(); ++i) values.push_back(read_tensor(stored.dataset(std::to_string(i))));
  return values;
}

void load_optimizer(const Model& model, const std::vector<Tensor>& values, const std::string& file_name) {
  if (!model.compiled() || values.empty()) return;
  if (!model.optimizer().node().built()) build_optimizer(model.model_node());
  try {
    model.optimizer().node().load_variables(values);
  } catch (const InvalidArgumentError& error) {
    log(LogChannel::warning, file_name + ": the state of the optimizer does not fit and was left out: " + error.what());
  }
}

void check_built(const Model& model, const std::string& what) {
  if (!model.built())
    throw StateError(what + ": model '" + model.name() + "' is not built; call build(shape) or fit first");
}

}  // namespace

void write_weights(const Model& model, hdf5::Writer& writer) {
  check_built(model, "save_weights");
  for (const WeightsGroup& group : walk_weights(model)) write_group(writer, group);
  if (!model.compiled()) return;
  const OptimizerNode& optimizer = model.optimizer().node();
  writer.create_group("optimizer/vars");
  writer.set_attribute("optimizer/vars", "name", optimizer.name());
  const std::vector<OptimizerVariable> state = optimizer.variables_for_file();
  for (size_t i = 0; i < state.size(); ++i)
    write_tensor(writer, "optimizer/vars/" + std::to_string(i), state[i].value);
}

void read_weights(const Model& model, const hdf5::Group& root, const std::string& file_name) {
  check_built(model, file_name);
  const std::vector<WeightsGroup> groups = walk_weights(model);
  std::vector<Tensors> values;
  for (const WeightsGroup& group : groups)
    values.push_back(group.variables.empty() ? Tensors() : read_group(root, group, file_name));
  const std::vector<Tensor> optimizer = read_optimizer(root);
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t k = 0; k < values[i].size(); ++k) groups[i].variables[k].assign(values[i][k]);
  load_optimizer(model, optimizer, file_name);
}

void Model::save_weights(const std::string& path) const {
  if (!path.ends_with(".weights.h5"))
    throw InvalidArgumentError("save_weights: expected a path that ends with '.weights.h5', received '" + path + "'");
  hdf5::Writer writer;
  write_weights(*this, writer);
  writer.save(path);
}

void Model::load_weights(const std::string& path) const {
  const ExclusiveUse alone(model_node(), "load_weights");
  const hdf5::File file = hdf5::File::open(path);
  read_weights(*this, file.root(), path);
}

}  // namespace nyala
