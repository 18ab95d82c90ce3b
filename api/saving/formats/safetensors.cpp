#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/api/saving/formats/format.h>

namespace nyala {

using namespace nyala::detail;

namespace {

StoredModel read(const std::shared_ptr<const FileBytes>& file) {
  StoredModel stored;
  stored.name = file->path();
  stored.arrays = stored_safetensors(file);
  return stored;
}

}  // namespace

extern const Format kSafetensors = {
    "safetensors",
    [](const std::shared_ptr<const FileBytes>& file) { return looks_like_safetensors(StoredBytes(file)); },
    read};

}  // namespace nyala
