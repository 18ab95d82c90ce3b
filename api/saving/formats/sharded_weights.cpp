#include <algorithm>
#include <filesystem>
#include <set>

#include <nyala/api/saving/formats/format.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

std::string_view text_of(const FileBytes& file, uint64_t length) {
  return {reinterpret_cast<const char*>(file.part(0, length).data()), length};
}

/// A model's to_json is JSON, too.
bool recognises(const std::shared_ptr<const FileBytes>& file) {
  constexpr uint64_t kIndexBegins = 4096;
  const std::string_view text = text_of(*file, std::min(kIndexBegins, file->size()));
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && text[begin] == '{' &&
         text.find("\"weight_map\"") != std::string_view::npos;
}

/// Names of the files, each once: one of a group, or a list.
std::set<std::string> shards_of(const Json& index, const std::string& path) {
  std::set<std::string> names;
  const auto add = [&](const Json& name) {
    if (!name.is_string()) throw FileFormatError(path + ": the weight_map names something else than files");
    names.insert(name.get<std::string>());
  };
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object() ||
      index["weight_map"].empty())
    throw FileFormatError(path + ": expected the index of sharded weights with a 'weight_map'");
  for (const auto& [group, files] : index["weight_map"].items()) {
    if (!files.is_array())
      add(files);
    else
      for (const Json& name : files) add(name);
  }
  return names;
}

StoredModel read(const std::shared_ptr<const FileBytes>& file) {
  const std::string& path = file->path();
  StoredModel stored;
  stored.name = path;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const std::string& name : shards_of(parse_json(text_of(*file, file->size()), path), path)) {
    if (name.empty() || name == ".." || name.find_first_of(std::string("/\\\0", 3)) != std::string::npos)
      throw FileFormatError(path + ": the shard " + detail::in_quotes(name) + " lies outside of the folder");
    const auto shard = std::make_shared<hdf5::File>(hdf5::File::open((folder / name).string()));
    if (!stored.file)
      stored.file = shard;
    else
      stored.more_files.push_back(shard);
  }
  return stored;
}

}  // namespace

extern const Format kShardedWeights = {"sharded weights", recognises, read};

}  // namespace nyala
