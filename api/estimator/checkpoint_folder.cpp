#include <nyala/api/estimator/checkpoint_folder.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/base/folder.h>
#include <nyala/files/base/stored_bytes.h>

namespace nyala {

using namespace nyala::detail;

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBegin = "model.ckpt-", kEnd = ".weights.h5", kIndex = "checkpoint",
                           kKey = "model_checkpoint_path: \"";

/// The 100 of "model.ckpt-100.weights.h5".
std::optional<int64_t> step_of(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(std::min(kEnd.size(), name.size()));
  int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() && step >= 0 ? std::optional(step)
                                                                               : std::nullopt;
}

}  // namespace

std::vector<std::string> CheckpointFolder::all() const {
  std::vector<std::pair<int64_t, std::string>> found;
  if (is_there(folder_))
    for (const std::string& name : names_in_folder(folder_))
      if (const std::optional<int64_t> step = step_of(name)) found.emplace_back(*step, name);
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (const auto& [step, name] : found) paths.push_back(path_of(name));
  return paths;
}

std::string CheckpointFolder::latest() const {
  const std::string index = path_of(std::string(kIndex));
  if (!is_there(index)) return "";
  const StoredBytes stored(FileBytes::open(index));
  const auto bytes = stored.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t begin = text.starts_with(kKey) ? kKey.size() : text.size();
  const std::string name(text.substr(begin, text.find('"', begin) - begin));
  if (!step_of(name))
    throw FileFormatError(
        index + ": expected a first line 'model_checkpoint_path: \"model.ckpt-<step>.weights.h5\"'");
  return path_of(name);
}

std::string CheckpointFolder::save(const Model& model) const {
  if (writes_files(model.model_node())) make_folder("Estimator", "checkpoints", folder_);
  const std::string name =
      std::string(kBegin) + std::to_string(model.optimizer().iterations()) + std::string(kEnd);
  Checkpoint(model).save(path_of(name));
  const std::string text = std::string(kKey) + name + "\"\n";
  write_once(model.model_node(), [&] {
    write_file_atomically(path_of(std::string(kIndex)), std::as_bytes(std::span(text)));
    remove_old();
  });
  return path_of(name);
}

void CheckpointFolder::remove_old() const {
  const std::vector<std::string> paths = all();
  if (keep_ <= 0 || paths.size() <= static_cast<size_t>(keep_)) return;
  std::error_code ignored;  // one that cannot be removed does no harm
  for (size_t i = 0; i < paths.size() - static_cast<size_t>(keep_); ++i) fs::remove(paths[i], ignored);
}

}  // namespace nyala
