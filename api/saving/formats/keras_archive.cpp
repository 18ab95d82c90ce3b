#include <nyala/api/saving/formats/keras_archive.h>

#include <ctime>
#include <filesystem>

#include <nyala/api/layers/base/layer_files.h>
#include <nyala/api/saving/config/model_json.h>
#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/weights_walk.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/version.h>
#include <nyala/files/json/json_text.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>

namespace nyala {

namespace {

constexpr const char *kMetadata = "metadata.json", *kConfig = "config.json", *kWeights = "model.weights.h5";
constexpr std::string_view kAssets = "assets/";

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
  for (const zip::Member& member : archive.members())
    if (member.name.starts_with(kAssets) && !member.name.ends_with('/'))
      stored.assets.emplace(member.name.substr(kAssets.size()),
                            text_of(archive.read(member.name).bytes));
  return stored;
}

/// "layers/string_lookup/vocabulary.txt", or of the model itself "vocabulary.txt".
std::string asset_path(const WeightsGroup& group, const std::string& name) {
  return group.path.empty() ? name : group.path + "/" + name;
}

void add_assets(const Model& model, zip::ArchiveWriter& archive) {
  for (const WeightsGroup& group : walk_weights(model))
    if (const auto* keeper = dynamic_cast<const LayerFiles*>(&group.layer.node()))
      for (const auto& [name, text] : keeper->texts())
        archive.add(std::string(kAssets) + asset_path(group, name), text);
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
  const std::filesystem::path assets = path / "assets";
  if (!std::filesystem::is_directory(assets)) return stored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(assets))
    if (entry.is_regular_file())
      stored.assets.emplace(entry.path().lexically_relative(assets).generic_string(),
                            text_of(StoredBytes(FileBytes::open(entry.path().string()))));
  return stored;
}

void set_assets(const Model& model, const StoredModel& stored) {
  for (const WeightsGroup& group : walk_weights(model)) {
    auto* const keeper = dynamic_cast<LayerFiles*>(&group.layer.node());
    if (!keeper) continue;
    LayerFiles::Texts texts;
    const std::string folder = asset_path(group, "");
    for (const auto& [path, text] : stored.assets)
      if (path.starts_with(folder) && path.find('/', folder.size()) == std::string::npos)
        texts[path.substr(folder.size())] = text;
    if (!texts.empty()) keeper->set_texts(texts);
  }
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
    add_assets(model, archive);
    archive.commit();
  });
}

}  // namespace nyala
