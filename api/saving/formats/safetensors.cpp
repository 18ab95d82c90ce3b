#include <nyala/api/saving/formats/format.h>
#include <nyala/api/saving/safetensors.h>

namespace nyala {

namespace {

StoredModel read(const std::shared_ptr<const FileBytes>& file) {
  StoredModel stored;
  stored.name = file->path();
  stored.arrays = load_safetensors(file);
  return stored;
}

}  // namespace

const Format kSafetensors = {
    "safetensors", [](const FileBytes& file) { return looks_like_safetensors(file.bytes()); }, read};

}  // namespace nyala
