#include <nyala/api/callbacks/backup_and_restore.h>

#include <filesystem>

#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/training/training_state.h>
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
  std::error_code error;
  std::filesystem::create_directories(backup_dir_, error);
  if (error) throw IoError("BackupAndRestore: cannot make folder '" + backup_dir_ + "': " + error.message());
  if (!std::filesystem::exists(path())) return;
  if (!model().built())
    throw StateError("BackupAndRestore: model '" + model().name() +
                     "' is not built, so its backup cannot be restored; begin it with an Input or call build()");
  const TrainingPosition position = Checkpoint(model()).restore(path());
  TrainingState& state = *model().model_node().training;
  state.resume_epoch = position.epoch;
  state.resume_batch = position.batch;
}

void BackupAndRestore::on_epoch_begin(int epoch, Logs&) { epoch_ = epoch; }

void BackupAndRestore::on_train_batch_end(int64_t batch, Logs&) {
  if (config_.save_freq > 0 && (batch + 1) % config_.save_freq == 0)
    Checkpoint(model()).save(path(), {epoch_, batch + 1});
}

void BackupAndRestore::on_epoch_end(int epoch, Logs&) { Checkpoint(model()).save(path(), {epoch + 1, 0}); }

void BackupAndRestore::on_train_end(Logs&) {
  std::error_code ignored;  // a backup that cannot be removed does no harm
  if (config_.delete_checkpoint) std::filesystem::remove(path(), ignored);
}

}  // namespace nyala
