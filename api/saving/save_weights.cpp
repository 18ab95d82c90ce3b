#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/formats/legacy_weights.h>
#include <nyala/api/saving/weights/named_weights.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/api/training/model_use.h>
#include <nyala/api/training/check_status.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/memory_report.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

using namespace nyala::detail;

namespace {

void write(const Model& model, const std::string& path) {
  const bool is_npz = path.ends_with(".npz");
  if (is_npz || path.ends_with(".safetensors")) {
    const auto weights = named_weights(model);
    return write_once(model.model_node(),
                      [&] { is_npz ? save_npz(path, weights) : save_safetensors(path, weights); });
  }
  if (!path.ends_with(".weights.h5"))
    throw InvalidArgumentError(
        "save_weights: expected a path that ends with '.weights.h5', '.safetensors' or "
        "'.npz', received '" +
        path + "'");
  hdf5::Writer writer(hdf5::Checksums::crc32c);
  write_weights(model, writer);
  write_once(model.model_node(), [&] { writer.save(path); });
}

LoadReport read(const Model& model, const std::string& path, const LoadWeightsConfig& config) {
  const StoredModel stored = read_stored_model(path);
  if (!stored.file) return read_named_weights(model, stored.arrays, stored.name, config);
  const auto checked = [&](const hdf5::File& file) {
    const hdf5::Group root = config.verify_checksums ? file.root() : file.unverified().root();
    root.check_names();
    return root;
  };
  const hdf5::Group root = checked(*stored.file);
  if (is_legacy_weights(root)) return read_legacy_weights(model, root, stored.name, config);
  std::vector<hdf5::Group> roots = {root};
  for (const auto& file : stored.more_files) roots.push_back(checked(*file));
  return read_weights(model, WeightsTree(std::move(roots)), stored.file->name(), config);
}

}  // namespace

void Model::save_weights(const std::string& path) const {
  with_memory_errors(path.c_str(), [&] {
    const SharedUse use(model_node(), "save_weights");
    write_with_all(*this, path, [&] {
      check_trained_status(model_node());
      naming_file(path, [&] { write(*this, path); });
    });
  });
}

LoadReport Model::load_weights(const std::string& path, const LoadWeightsConfig& config) const {
  return with_memory_errors(path.c_str(), [&] {
    const ExclusiveUse alone(model_node(), "load_weights");
    return naming_file(path, [&] { return read(*this, path, config); });
  });
}

}  // namespace nyala
