#include <nyala/api/saving/formats/keras_archive.h>

#include <ctime>
#include <filesystem>

#include <nyala/api/saving/config/model_json.h>
#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/version.h>
#include <nyala/files/json/json_text.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>

namespace nyala {

namespace {

constexpr const char *kMetadata = "metadata.json", *kConfig = "config.json", *kWeights = "model.weights.h5";

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d@%H:%M:%S", &parts);
  return text;
}

std::string_view text_of(const StoredBytes& stored) {
  const auto bytes = stored.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void take_config(StoredModel& stored, Json config) {
  if (config.is_object() && config.contains("compile_config"))
    stored.compile_config = config["compile_config"];
  stored.config = std::move(config);
}

StoredModel read(const std::shared_ptr<const FileBytes>& file) {
  const std::string& path = file->path();
  const zip::Archive archive(file);
  for (const char* needed : {kConfig, kWeights})
    if (!archive.has(needed))
      throw FileFormatError(path + ": a .keras file without its member '" + std::string(needed) + "'" +
                            (archive.has("model.weights.npz") ? "; weights as .npz are not built yet" : ""));
  StoredModel stored{path};
  const zip::Content config = archive.read(kConfig);
  take_config(stored, parse_json(text_of(config.bytes), path + ": " + kConfig, config.stored));
  const zip::Content weights = archive.read(kWeights);
  const std::string weights_name = path + ": " + kWeights;
  stored.file = std::make_shared<hdf5::File>(hdf5::File::from_bytes(weights.bytes, weights_name));
  return stored;
}

}  // namespace

extern const Format kKerasArchive = {
    "keras",
    [](const std::shared_ptr<const FileBytes>& file) { return zip::Archive::looks_like(StoredBytes(file)); },
    read};

StoredModel read_unzipped_archive(const std::string& folder) {
  const std::filesystem::path path(folder);
  StoredModel stored{folder};
  const auto config = FileBytes::open((path / kConfig).string());
  take_config(stored, parse_json(text_of(StoredBytes(config)), config->path()));
  stored.file = std::make_shared<hdf5::File>(hdf5::File::open((path / kWeights).string()));
  return stored;
}

void write_keras_archive(const Model& model, const std::string& path) {
  const Json metadata = {
      {"keras_version", kKerasVersion}, {"date_saved", now()}, {"nyala_version", std::string(version())}};
  const std::string config = json_text(model_to_json(model), "save");
  hdf5::Writer weights;
  write_weights(model, weights);
  const hdf5::FileParts parts = weights.finish_parts();
  write_once(model.model_node(), [&] {
    zip::ArchiveWriter archive(path);
    archive.add(kMetadata, metadata.dump());
    archive.add(kConfig, config);
    archive.add(kWeights, [&](const zip::ArchiveWriter::Sink& sink) { parts.send(sink); });
    archive.commit();
  });
}

}  // namespace nyala
