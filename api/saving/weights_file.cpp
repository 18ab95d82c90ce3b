#include <set>

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

/// Variables in the file that no layer of the model asks for: the file is perhaps another model's.
void warn_of_unread(const hdf5::Group& root, const std::vector<WeightsGroup>& groups,
                    const std::string& file_name) {
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
  if (!unread.empty())
    log(LogChannel::warning,
        file_name + ": " + std::to_string(unread.size()) +
            " group(s) with variables have no layer in the model and were left out, the first is '" +
            *unread.begin() + "'");
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
  if (!model.compiled() || values.empty()) return;
  OptimizerNode& optimizer = model.optimizer().node();
  if (!optimizer.built()) build_optimizer(model.model_node());
  try {
    optimizer.load_variables(values);
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

void check_kind(const hdf5::Group& root, const std::string& file_name) {
  if (root.attributes().has("layer_names") || root.has_group("model_weights"))
    throw FileFormatError(file_name +
                          ": expected a file in the layout of Keras 3's save_weights, found one of Keras 2 "
                          "(weights by layer name); load and save it with Keras 3 first");
}

}  // namespace

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
void read_weights(const Model& model, const hdf5::Group& root, const std::string& file_name,
                  OptimizerMismatch mismatch) {
  check_built(model, file_name);
  check_kind(root, file_name);
  const std::vector<WeightsGroup> groups = walk_weights(model);
  std::vector<Tensors> values;
  for (const WeightsGroup& group : groups) values.push_back(read_group(root, group, file_name));
  warn_of_unread(root, groups, file_name);
  load_optimizer(model, read_optimizer(root), file_name, mismatch);
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t k = 0; k < values[i].size(); ++k) groups[i].variables[k].assign(values[i][k]);
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

void Model::load_weights(const std::string& path) const {
  const ExclusiveUse alone(model_node(), "load_weights");
  const hdf5::File file = hdf5::File::open(path);
  read_weights(*this, file.root(), path);
}

}  // namespace nyala
