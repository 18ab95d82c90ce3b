#include <nyala/api/callbacks/backup_and_restore.h>
#include <nyala/backend/core/error.h>

namespace nyala {

BackupAndRestore::BackupAndRestore(std::string backup_dir, Config config)
    : backup_(std::move(backup_dir), "BackupAndRestore"), config_(config) {
  if (config_.save_freq < 0)
    throw InvalidArgumentError("BackupAndRestore: expected save_freq >= 0, received " +
                               std::to_string(config_.save_freq));
}

void BackupAndRestore::on_train_begin(Logs&) {
  last_batch_ = backup_.begin(model()).batch - 1;
  unsaved_ = 0;
}

// The epoch that is resumed begins after its first batches.
void BackupAndRestore::on_epoch_begin(int epoch, Logs&) { epoch_ = epoch; }

// With steps_per_execution the hook comes for several batches at once. A resumed epoch whose data cannot be
// replayed counts from 0 again.
void BackupAndRestore::on_train_batch_end(int64_t batch, Logs&) {
  if (config_.save_freq == 0) return;
  unsaved_ += batch > last_batch_ ? batch - last_batch_ : batch + 1;
  last_batch_ = batch;
  if (unsaved_ < config_.save_freq) return;
  unsaved_ = 0;
  backup_.save(model(), {epoch_, batch + 1});
}

// In any case, so that the epoch's end, what other callbacks do there, is not gone through again.
void BackupAndRestore::on_epoch_end(int epoch, Logs&) {
  last_batch_ = -1;
  backup_.save(model(), {epoch + 1, 0});
}

void BackupAndRestore::on_train_end(Logs&) {
  if (config_.delete_checkpoint) backup_.remove(model());
}

}  // namespace nyala
