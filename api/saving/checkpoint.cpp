#include <nyala/api/saving/checkpoint.h>

#include <bit>
#include <span>

#include <nyala/api/saving/hdf5/file.h>
#include <nyala/api/saving/weights_file.h>
#include <nyala/api/training/training_state.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>

namespace nyala {

namespace {

constexpr const char* kGroup = "nyala_checkpoint";

std::string at(const char* name) { return std::string(kGroup) + "/" + name; }

void write_integers(hdf5::Writer& writer, const char* name, const std::vector<int64_t>& values) {
  writer.write_dataset(at(name), {static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
}

/// Keys of the random draws of every layer, in the order of the walk.
std::vector<uint64_t*> random_keys(const LayerNode& node) {
  std::vector<uint64_t*> keys;
  for (const auto& [attribute, layer] : node.sublayers()) {
    if (uint64_t* key = layer.node().random_key()) keys.push_back(key);
    for (uint64_t* key : random_keys(layer.node())) keys.push_back(key);
  }
  return keys;
}

std::vector<double> total_sums(const TrainingState& state) {
  std::vector<double> total(static_cast<size_t>(state.num_sums), 0.0);
  for (const Tensor& sums : state.sums) {
    const std::vector<double> own = sums.to_vector<double>();
    for (size_t i = 0; i < own.size(); ++i) total[i] += own[i];
  }
  return total;
}

/// The first replica takes the sums; which one holds them makes no difference to their total.
void restore_sums(TrainingState& state, const std::vector<double>& total, double rows) {
  if (state.sums.empty()) {
    state.restored_sums = total;
  } else if (total.size() == static_cast<size_t>(state.num_sums)) {
    for (const Tensor& sums : state.sums) ops::fill_zero(sums);
    state.sums[0].copy_from_host(total.data());
  }
  state.rows = rows;
}

}  // namespace

void Checkpoint::save(const std::string& path, const TrainingPosition& position) const {
  hdf5::Writer writer;
  write_weights(model_, writer);
  if (const auto& state = model_.model_node().training) {
    write_integers(writer, "position", {position.epoch, position.batch, state->train_step});
    write_integers(writer, "shuffle_seed", {std::bit_cast<int64_t>(state->shuffle_seed)});
    std::vector<int64_t> keys;
    for (const uint64_t* key : random_keys(model_.node())) keys.push_back(std::bit_cast<int64_t>(*key));
    write_integers(writer, "random_keys", keys);
    std::vector<double> sums = total_sums(*state);
    sums.push_back(state->rows);
    writer.write_dataset(at("sums"), {static_cast<int64_t>(sums.size())}, std::span<const double>(sums));
  }
  writer.save(path);
}

TrainingPosition Checkpoint::restore(const std::string& path) const {
  const hdf5::File file = hdf5::File::open(path);
  const hdf5::Group& root = file.root();
  const auto& state = model_.model_node().training;
  if (!state || !root.has_group(kGroup)) {
    read_weights(model_, root, path);
    return {};
  }
  const auto position = root.dataset(at("position")).values<int64_t>();
  const auto seed = root.dataset(at("shuffle_seed")).values<int64_t>();
  const auto keys = root.dataset(at("random_keys")).values<int64_t>();
  auto sums = root.dataset(at("sums")).values<double>();
  const std::vector<uint64_t*> own_keys = random_keys(model_.node());
  if (position.size() != 3 || seed.size() != 1 || sums.empty() || keys.size() != own_keys.size())
    throw FileFormatError(path + ": group '" + kGroup + "' does not fit this model (it has " +
                          std::to_string(own_keys.size()) + " layers that draw random numbers, the file " +
                          std::to_string(keys.size()) + ")");
  read_weights(model_, root, path);
  for (size_t i = 0; i < keys.size(); ++i) *own_keys[i] = std::bit_cast<uint64_t>(keys[i]);
  state->train_step = position[2];
  state->shuffle_seed = std::bit_cast<uint64_t>(seed[0]);
  const double rows = sums.back();
  sums.pop_back();
  restore_sums(*state, sums, rows);
  return {static_cast<int>(position[0]), position[1]};
}

}  // namespace nyala
