#include <nyala/models/pretrained_file.h>

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include <nyala/api/base/output.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/fetch.h>
#include <nyala/datasets/io/file_digest.h>

namespace nyala::applications {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Standard error is where a terminal's user sees it while the results go elsewhere; an output that a program
/// has set gets all that is printed.
void print_progress(const Output& output, const std::string& text) {
  if (output.is_standard())
    std::fputs(text.c_str(), stderr);
  else
    nyala::detail::print(text);
}

/// One line that is drawn over and over on a terminal, and elsewhere one at the end for an output that was
/// set.
datasets::FetchProgress progress_bar(const std::string& name) {
  const Output output = nyala::detail::output();
  const bool draws = output.is_standard() ? isatty(STDERR_FILENO) == 1 : output.is_terminal();
  if (output.is_standard() && !draws) return {};
  return [=, last = uint64_t{0}](uint64_t done, uint64_t total) mutable {
    constexpr uint64_t kMegabyte = 1'000'000;
    const bool finished = total > 0 && done == total;
    if (!finished && (!draws || done / kMegabyte == last)) return;
    last = done / kMegabyte;
    const auto megabytes = [](uint64_t bytes) {
      return nyala::detail::fixed_text(double(bytes) / kMegabyte, 1);
    };
    print_progress(output, (draws ? "\r" : "") + name + ": " + megabytes(done) + " / " + megabytes(total) +
                               " MB" + (finished ? "\n" : ""));
  };
}

std::string places(const PretrainedFile& file) {
  std::string folders;
  for (const auto& folder : pretrained_folders())
    folders += (folders.empty() ? "'" : ", '") + folder.string() + "'";
  return "looked for '" + file.name + "' in " + folders + "; put the file of " + file.url +
         " into one of them by hand";
}

}  // namespace

std::vector<std::filesystem::path> pretrained_folders() {
  const std::string chosen = environment("NYALA_HOME"), home = environment("HOME");
  std::vector<std::filesystem::path> folders;
  if (!chosen.empty()) folders.push_back(std::filesystem::path(chosen) / "models");
  if (chosen.empty() && !home.empty()) folders.push_back(std::filesystem::path(home) / ".nyala" / "models");
  if (!home.empty()) folders.push_back(std::filesystem::path(home) / ".keras" / "models");
  if (folders.empty()) throw IoError("no folder for pretrained files: neither NYALA_HOME nor HOME is set");
  return folders;
}

std::filesystem::path find_pretrained(const PretrainedFile& file) {
  const std::vector<std::filesystem::path> folders = pretrained_folders();
  std::error_code code;
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path path = folder / file.name;
    if (!std::filesystem::is_regular_file(path, code)) continue;
    if (const std::string found = datasets::digest_like(file.hash, path); found != file.hash)
      throw FileFormatError(path.string() + ": expected the file of " + file.url + " with hash " + file.hash +
                            ", found " + found + "; remove it to have it downloaded again");
    return path;
  }
  const std::filesystem::path path = folders.front() / file.name;
  try {
    datasets::fetch({.url = file.url,
                     .path = path,
                     .sha256 = file.hash.size() == 64 ? file.hash : "",
                     .md5 = file.hash.size() == 32 ? file.hash : "",
                     .unverified = file.hash.empty(),
                     .progress = progress_bar(file.name)});
  } catch (const FileFormatError&) {
    throw;
  } catch (const IoError& error) {
    throw IoError(std::string(error.what()) + " (" + places(file) + ")");
  }
  return path;
}

}  // namespace nyala::applications
