#include <algorithm>

#include <nyala/api/saving/formats/format.h>
#include <nyala/files/zip/archive.h>

namespace nyala {

namespace {

/// A .keras file is an archive, too.
bool recognises(const std::shared_ptr<const FileBytes>& file) {
  if (!zip::Archive::looks_like(StoredBytes(file))) return false;
  const zip::Archive archive(file);
  const auto is_array = [](const zip::Member& member) { return member.name.ends_with(".npy"); };
  return !archive.members().empty() &&
         std::all_of(archive.members().begin(), archive.members().end(), is_array);
}

StoredModel read(const std::shared_ptr<const FileBytes>& file) {
  StoredModel stored;
  stored.name = file->path();
  stored.arrays = stored_npz(file);
  return stored;
}

}  // namespace

extern const Format kNpz = {"npz", recognises, read};

}  // namespace nyala
