#include <nyala/datasets/io/data_file.h>

#include <cstdlib>

#include <nyala/backend/core/error.h>

namespace nyala::datasets {

namespace {

std::optional<std::filesystem::path> environment_path(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return std::filesystem::path(value);
}

/// Nyala's own folder: NYALA_HOME, else ~/.nyala.
std::optional<std::filesystem::path> nyala_home() {
  if (const auto chosen = environment_path("NYALA_HOME")) return *chosen;
  if (const auto home = environment_path("HOME")) return *home / ".nyala";
  return std::nullopt;
}

}  // namespace

std::vector<std::filesystem::path> data_folders() {
  std::vector<std::filesystem::path> out;
  if (const auto chosen = environment_path("NYALA_DATA_DIR")) out.push_back(*chosen);
  if (const auto own = nyala_home()) out.push_back(*own / "datasets");
  if (const auto home = environment_path("HOME")) out.push_back(*home / ".keras" / "datasets");
  out.emplace_back("/usr/share/datasets");
  return out;
}

std::filesystem::path download_folder() {
  if (const auto chosen = environment_path("NYALA_DATA_DIR")) return *chosen;
  if (const auto own = nyala_home()) return *own / "datasets";
  throw IoError("no folder for downloads: none of NYALA_DATA_DIR, NYALA_HOME and HOME is set");
}

std::optional<std::filesystem::path> find_data_file(const std::string& folder, const std::string& name) {
  std::error_code code;
  for (const std::filesystem::path& root : data_folders()) {
    std::filesystem::path path = root / folder / name;
    if (std::filesystem::is_regular_file(path, code)) return path;
    if (path.extension() != ".gz") continue;
    path.replace_extension();
    if (std::filesystem::is_regular_file(path, code)) return path;
  }
  return std::nullopt;
}

std::string search_hint(const std::string& folder, const std::string& name) {
  std::string searched;
  for (const std::filesystem::path& root : data_folders())
    searched += (searched.empty() ? "" : ", ") + (root / folder).string();
  return "looked for " + detail::in_quotes(name) + " in: " + searched + "; put it into " +
         (download_folder() / folder).string() + " by hand";
}

std::filesystem::path find_or_fetch(const DataFile& file, const FetchProgress& progress) {
  if (const auto found = find_data_file(file.folder, file.name)) return *found;
  const std::filesystem::path path = download_folder() / file.folder / file.name;
  try {
    fetch({.url = file.url, .path = path, .sha256 = file.sha256, .progress = progress});
  } catch (const FileFormatError&) {
    throw;
  } catch (const IoError& error) {
    throw IoError(std::string(error.what()) + " (" + search_hint(file.folder, file.name) + ")");
  }
  return path;
}

}  // namespace nyala::datasets
