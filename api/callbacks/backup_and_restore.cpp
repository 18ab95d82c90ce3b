#include <filesystem>

#include <nyala/api/callbacks/backup_and_restore.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/api/training/resume_point.h>
#include <nyala/backend/core/error.h>

namespace nyala {

BackupAndRestore::BackupAndRestore(std::string backup_dir, Config config)
    : backup_dir_(std::move(backup_dir)), config_(config) {
  if (backup_dir_.empty()) throw InvalidArgumentError("BackupAndRestore: expected the path of a folder");
  if (config_.save_freq < 0)
    throw InvalidArgumentError("BackupAndRestore: expected save_freq >= 0, received " +
                               std::to_string(config_.save_freq));
}

std::string BackupAndRestore::path() const { return backup_dir_ + "/latest.weights.h5"; }

void BackupAndRestore::on_train_begin(Logs&) {
  if (!has_its_weights(model()))
    throw StateError(
        "BackupAndRestore: model " + detail::in_quotes(model().name()) +
        " is not built, so a backup could not be restored; begin it with an Input or call build() "
        "before fit()");
  std::error_code error;
  std::filesystem::create_directories(backup_dir_, error);
  if (error) throw IoError("BackupAndRestore: cannot make folder '" + backup_dir_ + "': " + error.message());
  last_batch_ = -1;
  unsaved_ = 0;
  if (!std::filesystem::exists(path())) return;
  const TrainingPosition position = Checkpoint(model()).restore(path());
  ResumePoint& resume = model().model_node().resume_point();
  resume.epoch = position.epoch;
  resume.batch = position.batch;
  last_batch_ = position.batch - 1;
}

// The epoch that is resumed begins behind its first batches.
void BackupAndRestore::on_epoch_begin(int epoch, Logs&) { epoch_ = epoch; }

// With steps_per_execution the hook comes for several batches at once. A resumed epoch whose data cannot be
// replayed counts from 0 again.
void BackupAndRestore::on_train_batch_end(int64_t batch, Logs&) {
  if (config_.save_freq == 0) return;
  unsaved_ += batch > last_batch_ ? batch - last_batch_ : batch + 1;
  last_batch_ = batch;
  if (unsaved_ < config_.save_freq) return;
  unsaved_ = 0;
  Checkpoint(model()).save(path(), {epoch_, batch + 1});
}

void BackupAndRestore::on_epoch_end(int epoch, Logs&) {
  last_batch_ = -1;
  if (config_.save_freq == 0) Checkpoint(model()).save(path(), {epoch + 1, 0});
}

void BackupAndRestore::on_train_end(Logs&) {
  if (!config_.delete_checkpoint) return;
  std::error_code ignored;  // a backup that cannot be removed does no harm; a folder with other files stays
  std::filesystem::remove(path(), ignored);
  if (std::filesystem::is_directory(std::filesystem::symlink_status(backup_dir_, ignored)))
    std::filesystem::remove(backup_dir_, ignored);
}

}  // namespace nyala
