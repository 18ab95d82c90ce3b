#pragma once

#include <string>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/callbacks/training_backup.h>

namespace nyala {

struct BackupAndRestoreConfig {
  /// Batches between two backups, counted over epochs, beside the one at the end of every epoch; 0: that one
  /// only (Keras' "epoch").
  int64_t save_freq = 0;
  /// Removes the backup, and the folder if nothing else is in it (one that was there empty before
  /// stays), once training has ended.
  bool delete_checkpoint = true;
};

/// Makes fit survive a crash: saves a checkpoint into `backup_dir` (latest.weights.h5) and, when fit is
/// called again, goes on where it stopped, with bit-identical results on the same devices; the history has
/// the epochs from there on. Data from arrays and index-based Datasets is replayed to its position; for data
/// behind a generator an epoch that was interrupted begins anew, which the log says. What other callbacks do
/// after this one at the end of an epoch is not in that epoch's backup: list it last.
class BackupAndRestore : public Callback {
 public:
  using Config = BackupAndRestoreConfig;
  /// Throws InvalidArgumentError for an empty path or a negative frequency.
  explicit BackupAndRestore(std::string backup_dir, Config config = {});
  template <size_t N>
  explicit BackupAndRestore(std::string, const NoSuchField (&)[N]) = delete;

  /// Throws StateError for a model that is not built (as Keras), IoError where the folder cannot be made or
  /// written to, and what Checkpoint::restore throws.
  void on_train_begin(Logs& logs) override;
  void on_epoch_begin(int epoch, Logs& logs) override;
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;

 private:
  detail::TrainingBackup backup_;
  Config config_;
  int epoch_ = 0;
  int64_t last_batch_ = -1;  // of this epoch
  int64_t unsaved_ = 0;      // batches since the last backup
};

}  // namespace nyala
