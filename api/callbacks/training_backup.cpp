#include <nyala/api/callbacks/training_backup.h>

#include <cerrno>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/saving/weights/write_once.h>
#include <nyala/api/training/state/resume_point.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/hdf5/file.h>

namespace nyala::detail {

namespace fs = std::filesystem;

namespace {

void remove_left(const std::string& path) {
  const fs::path file(path);
  remove_left_by_killed_writers(file.parent_path().string(),
                                [&](std::string_view name) { return name == file.filename().string(); });
}

/// `folder` and those above it that do not exist, the lowest first.
std::vector<std::string> missing_folders(const std::string& folder) {
  std::vector<std::string> missing;
  std::error_code error;
  for (fs::path path(folder); !path.empty() && !fs::exists(fs::symlink_status(path, error));
       path = path.parent_path())
    missing.push_back(path.string());
  return missing;
}

}  // namespace

TrainingBackup::TrainingBackup(std::string folder, std::string who)
    : folder_(std::move(folder)), who_(std::move(who)) {
  if (folder_.empty()) throw InvalidArgumentError(who_ + ": expected the path of a folder");
  (void)checked_path(folder_);
}

TrainingPosition TrainingBackup::begin(const Model& model) {
  if (!has_its_weights(model))
    throw StateError(
        who_ + ": model " + in_quotes(model.name()) +
        " is not built, so a backup could not be restored; begin it with an Input or call build() "
        "before fit()");
  const bool writes = writes_files(model.model_node());
  if (writes) {
    check_folder();
    remove_left(path());
  }
  std::error_code ignored;
  const bool has_backup = fs::exists(path());
  // Another process than the one that writes cannot tell who made it.
  is_own_ = is_own_ || has_backup || !writes || !fs::exists(folder_, ignored);
  if (!has_backup) return {};
  if (!hdf5::File::open(path()).root().has_group(kCheckpointGroup))  // Keras loads such a file, too
    log(LogChannel::warning,
        who_ + ": " + in_quotes(path()) + " is no backup: it has weights, but no epoch, optimizer state and "
               "random state of a training (group '/" + kCheckpointGroup +
               "'). Training begins with these weights at the first epoch");
  const TrainingPosition position = Checkpoint(model).restore(path());
  ResumePoint& resume = model.model_node().resume_point();
  resume.epoch = position.epoch;
  resume.batch = position.batch;
  return position;
}

std::error_code TrainingBackup::make_folder() {
  constexpr int kAttempts = 10;  // others may remove a folder above it that is still empty
  std::error_code error;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::vector<std::string> missing = missing_folders(folder_);
    if (!missing.empty()) made_ = missing;
    fs::create_directories(folder_, error);
    if (error != std::errc::no_such_file_or_directory) break;
  }
  return error;
}

void TrainingBackup::remove_made() {
  for (const std::string& folder : std::exchange(made_, {}))
    (void)::rmdir(folder.c_str());  // one with files stays
}

void TrainingBackup::check_folder() {
  const std::error_code error = make_folder();
  const int refused = error || ::access(folder_.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  remove_made();
  if (error) throw_file_error(who_ + ": cannot make folder '" + folder_ + "'", error.value());
  if (refused) throw_file_error(who_ + ": cannot write to folder '" + folder_ + "'", refused);
}

void TrainingBackup::save(const Model& model, const TrainingPosition& position) {
  // Where it cannot be made the file cannot be written, which all processes are told.
  if (writes_files(model.model_node())) (void)make_folder();
  Checkpoint(model).save(path(), position);
}

void TrainingBackup::remove(const Model& model) {
  if (!writes_files(model.model_node())) return;
  std::error_code ignored;  // a backup that cannot be removed does no harm; a folder with other files stays
  fs::remove(path(), ignored);
  remove_left(path());
  if (is_own_ && fs::is_directory(fs::symlink_status(folder_, ignored))) fs::remove(folder_, ignored);
  remove_made();
}

}  // namespace nyala::detail
