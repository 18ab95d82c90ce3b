#include <cstring>

#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/formats/legacy_config.h>
#include <nyala/api/saving/formats/legacy_weights.h>

namespace nyala {

namespace {

bool recognises(const std::shared_ptr<const FileBytes>& file) {
  constexpr char kSignature[] = "\x89HDF\r\n\x1a\n";
  return file->size() >= 8 && std::memcmp(file->part(0, 8).data(), kSignature, 8) == 0;
}

StoredModel read(const std::shared_ptr<const FileBytes>& file) {
  StoredModel stored;
  stored.name = file->path();
  stored.file = std::make_shared<hdf5::File>(hdf5::File::from_bytes(StoredBytes(file), file->path()));
  stored.legacy = is_legacy_weights(stored.file->root());
  const hdf5::Attributes attributes = stored.file->root().attributes();
  if (!attributes.has("model_config")) return stored;
  const std::string version = attributes.has("keras_version") ? attributes.string("keras_version") : "1";
  stored.config = upgrade_model_config(
      parse_json(attributes.string("model_config"), file->path() + ": model_config"), version, file->path());
  if (attributes.has("training_config"))
    stored.compile_config = upgrade_training_config(
        parse_json(attributes.string("training_config"), file->path() + ": training_config"));
  return stored;
}

}  // namespace

extern const Format kLegacyHdf5 = {"hdf5", recognises, read};

}  // namespace nyala
