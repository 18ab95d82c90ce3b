#include <bit>
#include <limits>
#include <set>
#include <span>

#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/hdf5/file.h>
#include <nyala/api/saving/weights_file.h>
#include <nyala/api/training/training_state.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

namespace {

/// Rises when older programs could not read the group any more.
constexpr int64_t kVersion = 1;

std::string at(const std::string& name) { return std::string(kCheckpointGroup) + "/" + name; }

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

void collect_keys(LayerNode& node, std::set<const LayerNode*>& seen, std::vector<uint64_t*>& keys) {
  if (!seen.insert(&node).second) return;
  if (uint64_t* key = node.random_key()) keys.push_back(key);
  for (const auto& [attribute, layer] : node.sublayers()) collect_keys(layer.node(), seen, keys);
}

/// Keys of the random draws of every layer, in the order of the sublayers; a shared layer's once.
std::vector<uint64_t*> random_keys(const Model& model) {
  std::set<const LayerNode*> seen;
  std::vector<uint64_t*> keys;
  collect_keys(model.node(), seen, keys);
  return keys;
}

ParameterStore& store_of(const Model& model) { return model.model_node().strategy()->store(); }

/// In the middle of gradient accumulation the replicas hold gradients that are not summed yet; to be summed
/// in the same order again they are kept apart.
void write_gathered(const Model& model, hdf5::Writer& writer) {
  const OptimizerNode& optimizer = model.optimizer().node();
  if (!optimizer.built() || !optimizer.accumulates_into_existing()) return;
  ParameterStore& store = store_of(model);
  for (size_t i = 0; i < optimizer.variables().size(); ++i) {
    const Variable& variable = optimizer.variables()[i];
    Shape shape{store.num_replicas()};
    for (int64_t size : variable.shape()) shape.append(size);
    const Tensor parts = Tensor::empty(shape, variable.dtype());
    for (int replica = 0; replica < store.num_replicas(); ++replica)
      parts.rows(replica, 1).with_shape(variable.shape()).copy_from(store.gradient(replica, variable));
    writer.write_dataset(at("gathered/" + std::to_string(i)), parts);
  }
}

/// The same from the file; empty where there are none for this number of replicas.
Tensors read_gathered(const Model& model, const hdf5::Group& root) {
  Tensors all;
  if (!model.compiled() || !root.has_group(at("gathered"))) return all;
  const hdf5::Group group = root.group(at("gathered"));
  for (size_t i = 0; i < group.names().size(); ++i) {
    const hdf5::Dataset dataset = group.dataset(std::to_string(i));
    if (dataset.shape().empty() || dataset.shape()[0] != store_of(model).num_replicas()) return {};
    const Tensor parts = Tensor::empty(dataset.shape(), dataset.dtype());
    dataset.read({static_cast<std::byte*>(parts.raw()), parts.bytes()});
    all.push_back(parts);
  }
  return all;
}

void restore_gathered(const Model& model, const Tensors& all) {
  const Variables& variables = model.optimizer().node().variables();
  if (all.size() != variables.size()) return;
  ParameterStore& store = store_of(model);
  for (size_t i = 0; i < all.size(); ++i) {
    const bool fits = all[i].dtype() == variables[i].dtype() &&
                      all[i].shape().slice(1, all[i].rank()) == variables[i].shape();
    for (int replica = 0; fits && replica < store.num_replicas(); ++replica)
      store.gradient(replica, variables[i])
          .copy_from(all[i].rows(replica, 1).with_shape(variables[i].shape()));
  }
}

void write_training(const Model& model, hdf5::Writer& writer) {
  const TrainingState& state = *model.model_node().training;
  write_list<int64_t>(writer, "step", {state.train_step});
  write_list<int64_t>(writer, "shuffle_seed", {std::bit_cast<int64_t>(state.shuffle_seed)});
  const SavedSums sums = saved_sums(state);
  if (sums.parts > 0) {
    write_list<double>(writer, "rows", {sums.rows});
    writer.write_dataset(at("sums"), {sums.parts, static_cast<int64_t>(sums.values.size()) / sums.parts},
                         std::span<const double>(sums.values));
  }
  write_gathered(model, writer);
}

/// The checkpoint's own group, read and looked through before anything is changed.
struct Content {
  TrainingPosition position;
  std::vector<int64_t> random_keys;
  std::vector<int64_t> step, shuffle_seed;  // empty where the model was not compiled
  SavedSums sums;
  Tensors gathered;
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
  const size_t expected = random_keys(model).size();
  if (content.random_keys.size() != expected)
    throw ShapeError("expected the random state of " + std::to_string(expected) +
                     " layers, the file has that of " + std::to_string(content.random_keys.size()));
  content.step = read_list<int64_t>(root, "step");
  content.shuffle_seed = read_list<int64_t>(root, "shuffle_seed");
  content.sums = read_sums(root);
  content.gathered = read_gathered(model, root);
  return content;
}

void restore_content(const Model& model, Content content) {
  const std::vector<uint64_t*> own = random_keys(model);
  for (size_t i = 0; i < content.random_keys.size(); ++i)
    *own[i] = std::bit_cast<uint64_t>(content.random_keys[i]);
  if (!model.compiled()) return;
  TrainingState& state = *model.model_node().training;
  if (content.step.size() == 1) state.train_step = content.step[0];
  if (content.shuffle_seed.size() == 1) state.shuffle_seed = std::bit_cast<uint64_t>(content.shuffle_seed[0]);
  restore_sums(state, std::move(content.sums));
  restore_gathered(model, content.gathered);
}

}  // namespace

void Checkpoint::save(const std::string& path, const TrainingPosition& position) const {
  const SharedUse use(model_.model_node(), "Checkpoint::save");
  if (model_.compiled()) model_.model_node().training->status.check();
  hdf5::Writer writer;
  write_weights(model_, writer, SlotsInFile::always);
  write_list<int64_t>(writer, "version", {kVersion});
  write_list<int64_t>(writer, "position", {position.epoch, position.batch});
  std::vector<int64_t> keys;
  for (const uint64_t* key : random_keys(model_)) keys.push_back(std::bit_cast<int64_t>(*key));
  write_list(writer, "random_keys", keys);
  if (model_.compiled()) write_training(model_, writer);
  writer.save(path);
}

TrainingPosition Checkpoint::restore(const std::string& path) const {
  const ExclusiveUse alone(model_.model_node(), "Checkpoint::restore");
  const hdf5::File file = hdf5::File::open(path);
  const hdf5::Group& root = file.root();
  if (!root.has_group(kCheckpointGroup)) {
    read_weights(model_, root, path);
    return {};
  }
  Content content;
  try {
    content = read_content(model_, root);
  } catch (const Error&) {
    rethrow_with_prefix(path + ": group '/" + kCheckpointGroup + "': ");
  }
  const TrainingPosition position = content.position;
  read_weights(model_, root, path, {}, OptimizerMismatch::fail);
  restore_content(model_, std::move(content));
  return position;
}

}  // namespace nyala
