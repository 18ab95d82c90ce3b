// A .weights.h5 that Keras can load, with a group of its own for what training needs besides: step, seeds,
// random keys of layers, running sums, gradients of an unfinished accumulation, and the place in the data.
// All of it is read and compared before anything is changed.
#include <bit>
#include <limits>
#include <span>

#include <nyala/api/layers/base/lora.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/weights/own_optimizers.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/api/training/model_use.h>
#include <nyala/api/training/check_status.h>
#include <nyala/api/training/state/epoch_sums.h>
#include <nyala/api/training/state/random_keys.h>
#include <nyala/api/training/state/resume_point.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/strategies/assign_by_rows.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Rises when older programs could not read the group any more.
constexpr int64_t kVersion = 1;

std::string at(const std::string& name) { return std::string(kCheckpointGroup) + ("/" + name); }

template <class T>
void write_list(hdf5::Writer& writer, const char* name, const std::vector<T>& values) {
  if (!values.empty())
    writer.write_dataset(at(name), {static_cast<int64_t>(values.size())}, std::span<const T>(values));
}

/// Empty where there is none.
template <class T>
std::vector<T> read_list(const hdf5::Group& root, const char* name) {
  return root.has_dataset(at(name)) ? root.dataset(at(name)).values<T>() : std::vector<T>();
}

ParameterStore& store_of(const Model& model) { return model.model_node().strategy()->store(); }

/// All optimizers of a model, by the group that keeps what they have gathered.
std::vector<std::pair<std::string, Optimizer>> gathering_optimizers(const Model& model) {
  std::vector<std::pair<std::string, Optimizer>> all;
  if (model.compiled()) all.emplace_back("gathered", model.optimizer());
  for (const OwnOptimizer& own : own_optimizers(walk_weights(model)))
    all.emplace_back("gathered_by/" + own.path, own.optimizer);
  return all;
}

/// In the middle of gradient accumulation the replicas hold gradients that are not summed yet; to be summed
/// in the same order again they are kept apart.
void write_gathered(const Model& model, const std::string& name, const BaseOptimizer& optimizer,
                    hdf5::Writer& writer) {
  if (!optimizer.built() || !optimizer.accumulates_into_existing()) return;
  if (model.model_node().strategy()->processes())
    throw StateError(
        "Checkpoint::save: gradients that are gathered over steps are in several processes, which "
        "a checkpoint cannot hold yet; save after an update");
  ParameterStore& store = store_of(model);
  for (size_t i = 0; i < optimizer.variables().size(); ++i) {
    const Variable& variable = optimizer.variables()[i];
    Shape shape{store.num_local_replicas()};
    for (int64_t size : variable.shape()) shape.append(size);
    const Tensor parts = Tensor::empty(shape, variable.dtype());
    for (int replica = 0; replica < store.num_local_replicas(); ++replica)
      parts.rows(replica, 1).with_shape(variable.shape()).copy_from(store.gradient(replica, variable));
    writer.write_dataset(at(name + "/" + std::to_string(i)), parts);
  }
}

/// The same from the file; empty where there are none for this number of replicas.
Tensors read_gathered(const Model& model, const std::string& name, const hdf5::Group& root) {
  Tensors all;
  if (!root.has_group(at(name))) return all;
  const hdf5::Group group = root.group(at(name));
  for (size_t i = 0; i < group.names().size(); ++i) {
    const hdf5::Dataset dataset = group.dataset(std::to_string(i));
    if (dataset.shape().empty() || dataset.shape()[0] != store_of(model).num_local_replicas()) return {};
    const Tensor parts = Tensor::empty(dataset.shape(), dataset.dtype());
    dataset.read({static_cast<std::byte*>(parts.raw()), parts.bytes()});
    all.push_back(parts);
  }
  return all;
}

void restore_gathered(const Model& model, const BaseOptimizer& optimizer, const Tensors& all) {
  const Variables& variables = optimizer.variables();
  if (all.size() != variables.size()) return;
  ParameterStore& store = store_of(model);
  for (size_t i = 0; i < all.size(); ++i) {
    const bool fits = all[i].dtype() == variables[i].dtype() &&
                      all[i].shape().slice(1, all[i].rank()) == variables[i].shape();
    for (int replica = 0; fits && replica < store.num_local_replicas(); ++replica)
      store.gradient(replica, variables[i])
          .copy_from(all[i].rows(replica, 1).with_shape(variables[i].shape()));
  }
}

std::string own_metric(size_t index) { return at("own_metrics/" + std::to_string(index)); }

void write_own_metrics(const Model& model, hdf5::Writer& writer) {
  const std::vector<Metric>& metrics = model.model_node().own_metrics();
  for (size_t i = 0; i < metrics.size(); ++i) {
    const auto parts = metrics[i].sums().parts(metrics[i].node());
    std::vector<double> all;
    for (const std::vector<double>& part : parts) all.insert(all.end(), part.begin(), part.end());
    if (!all.empty())
      writer.write_dataset(own_metric(i),
                           {static_cast<int64_t>(parts.size()), static_cast<int64_t>(parts[0].size())},
                           std::span<const double>(all));
  }
}

/// The states of a model's own metrics, replica by replica.
using OwnMetricStates = std::vector<std::vector<std::vector<double>>>;

OwnMetricStates read_own_metrics(const Model& model, const hdf5::Group& root) {
  const std::vector<Metric>& metrics = model.model_node().own_metrics();
  OwnMetricStates states(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (!root.has_dataset(own_metric(i))) continue;
    const hdf5::Dataset dataset = root.dataset(own_metric(i));
    const int64_t size = metrics[i].node().state_size();
    if (dataset.shape().rank() != 2 || dataset.shape()[1] != size)
      throw ShapeError("metric " + in_quotes(metrics[i].name()) + ": expected " + std::to_string(size) +
                       " sums, found shape " + dataset.shape().to_string());
    const std::vector<double> all = dataset.values<double>();
    for (auto begin = all.begin(); begin != all.end(); begin += size)
      states[i].emplace_back(begin, begin + size);
  }
  return states;
}

void restore_own_metrics(const Model& model, const OwnMetricStates& states) {
  const std::vector<Metric>& metrics = model.model_node().own_metrics();
  std::vector<Device> places;
  for (int replica = 0; replica < store_of(model).num_local_replicas(); ++replica)
    places.push_back(store_of(model).device(replica));
  for (size_t i = 0; i < states.size(); ++i)
    metrics[i].sums().set_parts(metrics[i].node(), states[i], places);
}

std::string hidden_state(size_t index) { return at("hidden_state/" + std::to_string(index)); }

/// What stateful layers keep from batch to batch.
void write_hidden_state(const Model& model, hdf5::Writer& writer) {
  const Variables variables = model.model_node().hidden_state();
  for (size_t i = 0; i < variables.size(); ++i) {
    const Tensor value = Tensor::empty(variables[i].shape(), variables[i].dtype());
    value.copy_from(variables[i].value());
    writer.write_dataset(hidden_state(i), value);
  }
}

/// Empty where the file has none.
Tensors read_hidden_state(const Model& model, const hdf5::Group& root) {
  Tensors values;
  const Variables variables = model.model_node().hidden_state();
  for (size_t i = 0; i < variables.size() && root.has_dataset(hidden_state(i)); ++i) {
    const hdf5::Dataset dataset = root.dataset(hidden_state(i));
    if (dataset.shape() != variables[i].shape() || dataset.dtype() != variables[i].dtype())
      throw ShapeError("state of " + in_quotes(variables[i].path()) + ": expected shape " +
                       variables[i].shape().to_string() + ", found " + dataset.shape().to_string());
    values.push_back(Tensor::empty(dataset.shape(), dataset.dtype()));
    dataset.read({static_cast<std::byte*>(values.back().raw()), values.back().bytes()});
  }
  return values;
}

void restore_hidden_state(const Model& model, const Tensors& values) {
  const Variables variables = model.model_node().hidden_state();
  for (size_t i = 0; i < values.size(); ++i) assign_by_rows(variables[i], values[i]);
}

/// The variables of adapted layers as they are, in the order of the walk: the weights of the file hold
/// kernels with their products.
Variables adapted_variables(const Model& model) {
  Variables all;
  for (const WeightsGroup& group : walk_weights(model))
    if (const auto* adapted = dynamic_cast<const HasLora*>(&group.layer.node());
        adapted && adapted->lora().enabled())
      all.insert(all.end(), {adapted->lora_kernel(), adapted->lora().a(), adapted->lora().b()});
  return all;
}

std::string adapted_variable(size_t index) { return at("lora/" + std::to_string(index)); }

void write_adapted(const Model& model, hdf5::Writer& writer) {
  const Variables variables = adapted_variables(model);
  for (size_t i = 0; i < variables.size(); ++i)
    writer.write_dataset(adapted_variable(i), variables[i].value());
}

/// Empty where the file has none.
Tensors read_adapted(const Model& model, const hdf5::Group& root) {
  Tensors values;
  const Variables variables = adapted_variables(model);
  for (size_t i = 0; i < variables.size() && root.has_dataset(adapted_variable(i)); ++i) {
    const hdf5::Dataset dataset = root.dataset(adapted_variable(i));
    if (dataset.shape() != variables[i].shape())
      throw ShapeError("variable " + in_quotes(variables[i].path()) + ": expected shape " +
                       variables[i].shape().to_string() + ", found " + dataset.shape().to_string());
    values.push_back(read_tensor(dataset));
  }
  return values;
}

void write_training(const Model& model, hdf5::Writer& writer) {
  const ResumePoint& resume = model.model_node().resume_point();
  write_list<int64_t>(writer, "step", {resume.train_step});
  write_list<int64_t>(writer, "shuffle_seed", {std::bit_cast<int64_t>(resume.shuffle_seed)});
  const SavedSums sums = saved_sums(model.model_node().epoch_sums());
  if (sums.parts > 0) {
    write_list<double>(writer, "rows", {sums.rows});
    writer.write_dataset(at("sums"), {sums.parts, static_cast<int64_t>(sums.values.size()) / sums.parts},
                         std::span<const double>(sums.values));
  }
}

/// The checkpoint's own group, read and looked through before anything is changed.
struct Content {
  TrainingPosition position;
  std::vector<int64_t> random_keys;
  std::vector<int64_t> step, shuffle_seed;  // empty where the model was not compiled
  SavedSums sums;
  std::vector<std::pair<Optimizer, Tensors>> gathered;
  OwnMetricStates own_metrics;
  Tensors hidden_state;
  Tensors adapted;
};

SavedSums read_sums(const hdf5::Group& root) {
  SavedSums sums;
  if (!root.has_dataset(at("sums"))) return sums;
  const hdf5::Dataset dataset = root.dataset(at("sums"));
  const std::vector<double> rows = read_list<double>(root, "rows");
  if (dataset.shape().rank() != 2 || rows.size() != 1) throw FileFormatError("damaged sums of metrics");
  sums.parts = dataset.shape()[0];
  sums.values = dataset.values<double>();
  sums.rows = rows[0];
  return sums;
}

Content read_content(const Model& model, const hdf5::Group& root) {
  const auto version = read_list<int64_t>(root, "version");
  if (version.size() != 1 || version[0] != kVersion)
    throw FileFormatError("expected version " + std::to_string(kVersion) + ", found " +
                          (version.size() == 1 ? std::to_string(version[0]) : "none"));
  Content content;
  const auto position = read_list<int64_t>(root, "position");
  if (position.size() != 2 || position[0] < 0 || position[0] > std::numeric_limits<int>::max() ||
      position[1] < 0)
    throw FileFormatError("expected an epoch and a batch as position");
  content.position = {static_cast<int>(position[0]), position[1]};
  content.random_keys = read_list<int64_t>(root, "random_keys");
  const size_t expected = random_keys(model.node()).size();
  if (content.random_keys.size() != expected)
    throw ShapeError("expected the random state of " + std::to_string(expected) +
                     " layers, the file has that of " + std::to_string(content.random_keys.size()));
  content.step = read_list<int64_t>(root, "step");
  content.shuffle_seed = read_list<int64_t>(root, "shuffle_seed");
  content.sums = read_sums(root);
  content.own_metrics = read_own_metrics(model, root);
  content.hidden_state = read_hidden_state(model, root);
  content.adapted = read_adapted(model, root);
  for (const auto& [name, optimizer] : gathering_optimizers(model))
    content.gathered.emplace_back(optimizer, read_gathered(model, name, root));
  return content;
}

void restore_content(const Model& model, Content content) {
  const std::vector<uint64_t*> own = random_keys(model.node());
  for (size_t i = 0; i < content.random_keys.size(); ++i)
    *own[i] = std::bit_cast<uint64_t>(content.random_keys[i]);
  restore_own_metrics(model, content.own_metrics);
  restore_hidden_state(model, content.hidden_state);
  const Variables adapted = adapted_variables(model);
  for (size_t i = 0; i < content.adapted.size(); ++i) Variable(adapted[i]).assign(content.adapted[i]);
  for (const auto& [optimizer, gathered] : content.gathered)
    restore_gathered(model, optimizer.node(), gathered);
  if (!model.compiled()) return;
  const ModelNode& node = model.model_node();
  ResumePoint& resume = node.resume_point();
  if (content.step.size() == 1) resume.train_step = content.step[0];
  if (content.shuffle_seed.size() == 1)
    resume.shuffle_seed = std::bit_cast<uint64_t>(content.shuffle_seed[0]);
  restore_sums(node.compiled_training(), node.epoch_sums(), std::move(content.sums), *node.strategy());
}

void write_checkpoint(const Model& model, const std::string& path, const TrainingPosition& position) {
  check_trained_status(model.model_node());
  hdf5::Writer writer(hdf5::Checksums::crc32c);
  write_weights(model, writer, SlotsInFile::always);
  write_list<int64_t>(writer, "version", {kVersion});
  write_list<int64_t>(writer, "position", {position.epoch, position.batch});
  std::vector<int64_t> keys;
  for (const uint64_t* key : random_keys(model.node())) keys.push_back(std::bit_cast<int64_t>(*key));
  write_list(writer, "random_keys", keys);
  if (model.compiled()) write_training(model, writer);
  write_own_metrics(model, writer);
  write_hidden_state(model, writer);
  write_adapted(model, writer);
  for (const auto& [name, optimizer] : gathering_optimizers(model))
    write_gathered(model, name, optimizer.node(), writer);
  write_once(model.model_node(), [&] { writer.save(path); });
}

}  // namespace

void Checkpoint::save(const std::string& path, const TrainingPosition& position) const {
  if (position.epoch < 0 || position.batch < 0)
    throw InvalidArgumentError("Checkpoint::save: expected an epoch and a batch of at least 0, received " +
                               std::to_string(position.epoch) + " and " + std::to_string(position.batch));
  const SharedUse use(model_.model_node(), "Checkpoint::save");
  write_with_all(model_, path, [&] { write_checkpoint(model_, path, position); });
}

namespace {

TrainingPosition restore_from(const std::string& path, const Model& model) {
  const hdf5::File file = hdf5::File::open(path);
  const hdf5::Group& root = file.root();
  root.check_names();
  if (!root.has_group(kCheckpointGroup)) {
    read_weights(model, root, path);
    return {};
  }
  Content content;
  try {
    content = read_content(model, root);
  } catch (const Error&) {
    rethrow_with_prefix(path + ": group '/" + kCheckpointGroup + "': ");
  }
  const TrainingPosition position = content.position;
  read_weights(model, root, path, {}, OptimizerMismatch::fail);
  restore_content(model, std::move(content));
  return position;
}

}  // namespace

TrainingPosition Checkpoint::restore(const std::string& path) const {
  const ExclusiveUse alone(model_.model_node(), "Checkpoint::restore");
  return naming_file(path, [&] { return restore_from(path, model_); });
}

}  // namespace nyala
