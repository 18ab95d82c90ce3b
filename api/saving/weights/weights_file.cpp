// Keras 3's .weights.h5: a group per layer by its path among attributes and lists (weights_walk.cpp), in it
// datasets numbered in the layer's order. Names have changed since Keras 2.12; each group is looked for under
// all that it has had. Everything is found and its shape compared before anything is assigned, so that a file
// that does not fit leaves the model as it was.
#include <algorithm>
#include <set>

#include <nyala/api/optimizers/base/optimizer_group.h>
#include <nyala/api/saving/weights/own_optimizers.h>
#include <nyala/api/saving/weights/read_budget.h>
#include <nyala/api/saving/weights/stored_value.h>
#include <nyala/api/layers/base/layer_files.h>
#include <nyala/api/layers/base/lora.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/weights_walk.h>
#include <nyala/api/training/optimizer_variables.h>
#include <nyala/api/training/state/resume_point.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kOptimizerGroup = "optimizer";

std::string vars_of(const std::string& path) { return path.empty() ? "vars" : path + "/vars"; }

/// Of an adapted kernel with the product that adapts it.
Tensor value_in_file(const LayerNode& node, const Variable& variable) {
  const auto* const adapted = dynamic_cast<const HasLora*>(&node);
  const bool is_merged = adapted && adapted->lora().enabled() && variable == adapted->lora_kernel();
  return is_merged ? adapted->lora().merged(variable) : variable.value();
}

/// What adapts a kernel begins anew where the kernel comes from a file.
void forget_adaptation(const LayerNode& node) {
  if (const auto* adapted = dynamic_cast<const HasLora*>(&node); adapted && adapted->lora().enabled())
    Variable(adapted->lora().b())
        .assign(Tensor::zeros(adapted->lora().b().shape(), adapted->lora().b().dtype()));
}

void write_group(hdf5::Writer& writer, const WeightsGroup& group) {
  const std::string path = vars_of(group.path);
  naming_layer(group.layer, [&] {
    writer.create_group(path);
    writer.set_attribute(path, "name", group.name);
  });
  for (size_t i = 0; i < group.variables.size(); ++i)
    writer.write_dataset(path + "/" + std::to_string(i),
                         value_in_file(group.layer.node(), group.variables[i]));
  if (const auto* keeper = dynamic_cast<const LayerFiles*>(&group.layer.node()))
    for (const auto& [name, value] : keeper->values()) writer.write_dataset(path + "/" + name, value);
}

/// What Keras 2.12 to 2.14 called a path with "layers" in it.
std::string old_path_of(std::string path) {
  const std::string today = "layers", old = "_layer_checkpoint_dependencies";
  for (size_t at = 0; (at = path.find(today, at)) != std::string::npos; at += old.size())
    path.replace(at, today.size(), old);
  return path;
}

/// Up to Keras 3.0 the projections of attention layers are known by their private names.
std::string private_path_of(std::string path) {
  for (const char* name : {"/query_dense/", "/key_dense/", "/value_dense/", "/output_dense/"})
    if (const size_t at = path.rfind(name); at != std::string::npos) path.insert(at + 1, "_");
  return path;
}

/// All names that a group of variables has had, today's first.
std::vector<std::string> paths_of(const std::string& path) {
  const std::string hidden = private_path_of(path);
  return {path, old_path_of(path), hidden, old_path_of(hidden)};
}

/// Where the variables are in the file: today's or an old path. Throws NotFoundError.
std::string find_group(const WeightsTree& tree, const std::string& path) {
  for (const std::string& name : paths_of(path))
    if (tree.has_group(name)) return name;
  throw NotFoundError("the file has no such group");
}

std::string count_of_variables(size_t count) {
  return std::to_string(count) + (count == 1 ? " variable" : " variables");
}

std::vector<StoredValue> read_values(const WeightsTree& tree, const std::string& path,
                                     const Variables& variables) {
  const size_t count = tree.count(path);
  if (count != variables.size())
    throw ShapeError("expected " + count_of_variables(variables.size()) + ", the file has " +
                     count_of_variables(count));
  std::vector<StoredValue> values;
  for (size_t i = 0; i < variables.size(); ++i) {
    const hdf5::Dataset dataset = tree.dataset(path + "/" + std::to_string(i));
    const Variable& variable = variables[i];
    if (dataset.shape() != variable.shape())
      throw ShapeError("variable " + in_quotes(variable.name()) + ": expected shape " +
                       variable.shape().to_string() + ", the file has " + dataset.shape().to_string());
    values.emplace_back(dataset);
  }
  return values;
}

std::vector<StoredValue> read_group(const WeightsTree& tree, const WeightsGroup& group,
                                    const std::string& file_name) {
  if (group.variables.empty()) return {};
  try {
    return read_values(tree, find_group(tree, vars_of(group.path)), group.variables);
  } catch (const Error&) {
    rethrow_with_prefix(file_name + ": layer " + in_quotes(group.name) + " (" + group.layer.class_name() +
                        "), group '/" + vars_of(group.path) + "': ");
  }
}

/// What a layer keeps in the file beside variables.
void read_own_values(const WeightsTree& tree, const WeightsGroup& group) {
  auto* const keeper = dynamic_cast<LayerFiles*>(&group.layer.node());
  if (!keeper) return;
  const std::string path = vars_of(group.path);
  LayerFiles::Values values;
  for (const std::string& dataset : tree.dataset_paths())
    if (const size_t end = dataset.rfind('/'); dataset.substr(1, end - 1) == path)
      values[dataset.substr(end + 1)] = read_tensor(tree.dataset(dataset.substr(1)));
  if (!values.empty()) keeper->set_values(values);
}

/// Groups with variables that no layer of the model asks for: the file is perhaps another model's.
std::vector<std::string> unread_groups(const WeightsTree& tree, const std::vector<WeightsGroup>& groups) {
  std::set<std::string> known;
  std::vector<std::string> others = {std::string("/") + kOptimizerGroup + "/",
                                     "/" + std::string(kCheckpointGroup)};
  for (const OwnOptimizer& own : own_optimizers(groups)) others.push_back("/" + own.path + "/");
  for (const WeightsGroup& group : groups)
    for (const std::string& path : paths_of(vars_of(group.path))) known.insert("/" + path);
  std::set<std::string> unread;
  for (const std::string& path : tree.dataset_paths()) {
    const std::string parent = path.substr(0, path.rfind('/'));
    const bool of_a_layer = std::ranges::none_of(
        others, [&](const std::string& other) { return (parent + "/").starts_with(other); });
    if (of_a_layer && !known.contains(parent)) unread.insert(parent);
  }
  return {unread.begin(), unread.end()};
}

void warn_of(const std::vector<std::string>& unread, const std::string& file_name) {
  if (!unread.empty())
    log(LogChannel::warning,
        file_name + ": " + std::to_string(unread.size()) +
            " group(s) with variables have no layer in the model and were left out, the first is " +
            in_quotes(unread[0]));
}

}  // namespace

Tensors read_optimizer(const WeightsTree& tree, const std::string& group, const std::string& file_name) {
  Tensors values;
  const std::string vars = vars_of(group);
  if (!tree.has_group(vars)) return values;
  ReadBudget budget(tree.roots(), file_name);
  for (size_t i = 0, count = tree.count(vars); i < count; ++i) {
    const hdf5::Dataset dataset = tree.dataset(vars + "/" + std::to_string(i));
    budget.spend(dataset.byte_size(), "dataset " + in_quotes(dataset.path()));
    values.push_back(read_tensor(dataset));
  }
  return values;
}

BaseOptimizer& without_loss_scale(BaseOptimizer& optimizer) {
  const auto* const group = dynamic_cast<const OptimizerGroup*>(&optimizer);
  return group && !group->optimizer_map() ? group->members().front().node() : optimizer;
}

namespace {

/// A float32 training that goes on in mixed_float16 has a loss scale since, of which its file knows nothing.
Tensors behind_own_loss_scale(BaseOptimizer& optimizer, const Tensors& values) {
  const BaseOptimizer& inner = without_loss_scale(optimizer);
  if (&inner == &optimizer || values.size() != inner.shared_variables_for_file().size()) return values;
  Tensors all;
  for (const OptimizerVariable& variable : optimizer.shared_variables_for_file())
    all.push_back(variable.value);
  std::copy(values.rbegin(), values.rend(), all.rbegin());
  return all;
}

}  // namespace

void load_optimizer_state(const Model& model, const Tensors& values, const std::string& file_name,
                          OptimizerMismatch mismatch) {
  if (!model.compiled() || values.empty()) return;
  BaseOptimizer& optimizer = model.optimizer().node();
  const bool without_slots = values.size() <= std::max<size_t>(optimizer.variables_before_build().size(), 2);
  if (without_slots && values[0].num_elements() == 1 && values[0].item() == 0.0) return;
  if (!optimizer.built()) build_optimizer(model.model_node());
  try {
    optimizer.load_variables(behind_own_loss_scale(optimizer, values));
    // Random draws go on where the training in the file had come to; a Checkpoint knows it exactly.
    model.model_node().resume_point().train_step = optimizer.steps();
  } catch (const InvalidArgumentError& error) {
    if (mismatch == OptimizerMismatch::fail) rethrow_with_prefix(file_name + ": ");
    log(LogChannel::warning,
        file_name + ": the state of the optimizer does not fit and was left out: " + error.what());
  }
}

bool has_its_weights(const Model& model) {
  const std::vector<Layer> parts = model.layers();
  return model.built() ||
         (!model.model_node().has_call() &&
          std::all_of(parts.begin(), parts.end(), [](const Layer& part) { return part.built(); }));
}

void check_built(const Model& model, const std::string& what) {
  if (!has_its_weights(model))
    throw StateError(what + ": model " + in_quotes(model.name()) +
                     " is not built; call build(shape) or fit first");
}

Tensor read_tensor(const hdf5::Dataset& dataset) { return StoredValue(dataset).read(); }

std::vector<OptimizerVariable> state_for_file(const BaseOptimizer& optimizer) {
  return optimizer.made_no_step() ? optimizer.variables_before_build()
                                  : optimizer.shared_variables_for_file();
}

namespace {

void write_state(hdf5::Writer& writer, const std::string& group, const std::string& name,
                 const std::vector<OptimizerVariable>& state) {
  writer.create_group(group);
  writer.set_attribute(group, "name", name);
  for (size_t i = 0; i < state.size(); ++i)
    writer.write_dataset(group + "/" + std::to_string(i), state[i].value);
}

/// Keras files the state of optimizers inside of another once more, each on its own, and misses it there.
void write_members(hdf5::Writer& writer, const std::string& path, const OptimizerGroup& group,
                   SlotsInFile slots) {
  std::set<std::string> taken;
  for (const Optimizer& optimizer : group.members()) {
    const BaseOptimizer& member = optimizer.node();
    const std::string plain =
        group.optimizer_map() ? "optimizers/" + snake_case(member.class_name()) : "inner_optimizer";
    std::string name = plain;
    for (int more = 1; !taken.insert(name).second; ++more) name = plain + "_" + std::to_string(more);
    write_state(writer, path + "/" + name + "/vars", member.name(),
                slots == SlotsInFile::always ? member.shared_variables_for_file() : state_for_file(member));
  }
}

}  // namespace

void write_optimizer(hdf5::Writer& writer, const std::string& group, const BaseOptimizer& optimizer,
                     SlotsInFile slots) {
  write_state(
      writer, vars_of(group), optimizer.name(),
      slots == SlotsInFile::always ? optimizer.shared_variables_for_file() : state_for_file(optimizer));
  if (const auto* several = dynamic_cast<const OptimizerGroup*>(&optimizer))
    write_members(writer, group, *several, slots);
}

void write_weights(const Model& model, hdf5::Writer& writer, SlotsInFile slots) {
  check_built(model, "save_weights");
  const std::vector<WeightsGroup> groups = walk_weights(model);
  for (const WeightsGroup& group : groups) write_group(writer, group);
  write_own_optimizers(own_optimizers(groups), writer, slots);
  if (model.compiled()) write_optimizer(writer, kOptimizerGroup, model.optimizer().node(), slots);
}

// Optimizers come before the weights since they may still refuse.
LoadReport read_weights(const Model& model, const WeightsTree& tree, const std::string& file_name,
                        const LoadWeightsConfig& config, OptimizerMismatch mismatch) {
  check_built(model, file_name);
  if (config.by_name)
    throw InvalidArgumentError(file_name +
                               ": by_name is for files that keep weights by layer name; this one "
                               "keeps them by structure");
  const std::vector<WeightsGroup> groups = walk_weights(model);
  const std::set<const LayerNode*> skipped = with_sublayers(config.objects_to_skip);
  LoadReport report;
  std::vector<std::pair<Variable, StoredValue>> assignments;
  for (const WeightsGroup& group : groups) {
    if (group.variables.empty() || skipped.contains(&group.layer.node())) continue;
    try {
      const std::vector<StoredValue> values = read_group(tree, group, file_name);
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
  report.unexpected = unread_groups(tree, groups);
  warn_of(report.unexpected, file_name);
  const OwnOptimizerStates own_states(own_optimizers(groups), tree, file_name, mismatch);
  load_optimizer_state(model, read_optimizer(tree, kOptimizerGroup, file_name), file_name, mismatch);
  own_states.load();
  for (const auto& [variable, value] : assignments) load_array(variable, value.array());
  for (const WeightsGroup& group : groups)
    if (!skipped.contains(&group.layer.node())) {
      forget_adaptation(group.layer.node());
      read_own_values(tree, group);
    }
  return report;
}

std::string LoadReport::to_string() const {
  std::string text = std::to_string(loaded.size()) + " layers loaded";
  for (const auto& [what, list] :
       {std::pair{"missing", &missing}, {"of another shape", &mismatched}, {"unexpected", &unexpected}})
    if (!list->empty())
      text += ", " + std::to_string(list->size()) + " " + what + " (first: " + list->front() + ")";
  return text;
}

}  // namespace nyala
