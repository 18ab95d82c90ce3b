#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/formats/legacy_weights.h>
#include <nyala/api/saving/named_weights.h>
#include <nyala/api/saving/safetensors.h>
#include <nyala/api/saving/weights_file.h>
#include <nyala/api/training/training_state.h>
#include <nyala/backend/core/error.h>

namespace nyala {

void Model::save_weights(const std::string& path) const {
  const SharedUse use(model_node(), "save_weights");
  if (path.ends_with(".safetensors")) return save_safetensors(path, named_weights(*this));
  if (path.ends_with(".npz")) return save_npz(path, named_weights(*this));
  if (!path.ends_with(".weights.h5"))
    throw InvalidArgumentError(
        "save_weights: expected a path that ends with '.weights.h5', '.safetensors' or "
        "'.npz', received '" +
        path + "'");
  hdf5::Writer writer;
  write_weights(*this, writer);
  writer.save(path);
}

LoadReport Model::load_weights(const std::string& path, const LoadWeightsConfig& config) const {
  const ExclusiveUse alone(model_node(), "load_weights");
  const StoredModel stored = read_stored_model(path);
  if (!stored.file) return read_named_weights(*this, stored.arrays, stored.name, config);
  const hdf5::Group& root = stored.file->root();
  if (is_legacy_weights(root)) return read_legacy_weights(*this, root, stored.name, config);
  std::vector<hdf5::Group> roots = {root};
  for (const auto& file : stored.more_files) roots.push_back(file->root());
  return read_weights(*this, WeightsTree(std::move(roots)), stored.file->name(), config);
}

}  // namespace nyala
