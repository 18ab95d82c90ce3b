#include <nyala/api/saving/formats/keras_archive.h>

#include <ctime>

#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/model_json.h>
#include <nyala/api/saving/weights_file.h>
#include <nyala/api/saving/zip/archive.h>
#include <nyala/api/saving/zip/archive_writer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/version.h>

namespace nyala {

namespace {

constexpr const char *kMetadata = "metadata.json", *kConfig = "config.json", *kWeights = "model.weights.h5";
/// The version of Keras whose files these are like.
constexpr const char* kKerasVersion = "3.15.1";

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d@%H:%M:%S", &parts);
  return text;
}

StoredModel read(const std::shared_ptr<const FileBytes>& file) {
  const std::string& path = file->path();
  const zip::Archive archive(file->bytes(), file, path);
  for (const char* needed : {kConfig, kWeights})
    if (!archive.has(needed))
      throw FileFormatError(path + ": a .keras file without its member '" + std::string(needed) + "'" +
                            (archive.has("model.weights.npz") ? "; weights as .npz are not built yet" : ""));
  StoredModel stored{path};
  stored.config = parse_json(archive.read(kConfig).bytes, path + ": " + kConfig);
  if (stored.config.is_object() && stored.config.contains("compile_config"))
    stored.compile_config = stored.config["compile_config"];
  const zip::Content weights = archive.read(kWeights);
  stored.file = std::make_shared<hdf5::File>(
      hdf5::File::from_bytes(weights.bytes, weights.owner, path + ": " + kWeights));
  return stored;
}

}  // namespace

const Format kKerasArchive = {
    "keras", [](const FileBytes& file) { return zip::Archive::looks_like(file.bytes()); }, read};

void write_keras_archive(const Model& model, const std::string& path) {
  const Json metadata = {{"keras_version", kKerasVersion},
                         {"date_saved", now()},
                         {"nyala_version", std::string(version())}};
  const std::string config = model_to_json(model).dump();
  hdf5::Writer weights;
  write_weights(model, weights);
  const hdf5::FileImage image = weights.finish();
  zip::ArchiveWriter archive(path);
  archive.add(kMetadata, metadata.dump());
  archive.add(kConfig, config);
  archive.add(kWeights, image.bytes);
  archive.commit();
}

}  // namespace nyala
