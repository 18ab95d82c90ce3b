#pragma once

#include <string>

#include <nyala/api/callbacks/callback.h>

namespace nyala {

struct BackupAndRestoreConfig {
  /// Batches between two backups within an epoch; 0: at the end of every epoch.
  int64_t save_freq = 0;
  /// Removes the backup once training has ended well.
  bool delete_checkpoint = true;
};

/// Makes fit survive a crash: saves a checkpoint into `backup_dir` (latest.weights.h5) and, when fit is called again,
/// goes on where it stopped, with bit-identical results on the same devices. Data from arrays and index-based
/// Datasets is replayed to its position; for data behind a generator only whole epochs can be resumed, which the
/// log says.
class BackupAndRestore : public Callback {
 public:
  using Config = BackupAndRestoreConfig;
  /// Throws InvalidArgumentError for an empty path or a negative frequency.
  explicit BackupAndRestore(std::string backup_dir, Config config = {});

  void on_train_begin(Logs& logs) override;
  void on_epoch_begin(int epoch, Logs& logs) override;
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;

 private:
  std::string path() const;

  std::string backup_dir_;
  Config config_;
  int epoch_ = 0;
};

}  // namespace nyala
