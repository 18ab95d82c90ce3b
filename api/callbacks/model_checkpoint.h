#pragma once

#include <string>

#include <nyala/api/base/fields.h>
#include <nyala/api/callbacks/base/keeps_state.h>
#include <nyala/api/callbacks/monitor_callback.h>

namespace nyala {

/// "epoch", or a number of batches.
class SaveFrequency {
 public:
  /// Throws InvalidArgumentError for another name than "epoch".
  SaveFrequency(const char* name);
  /// Throws InvalidArgumentError unless batches > 0.
  SaveFrequency(int batches);
  bool every_epoch() const { return batches_ == 0; }
  int batches() const { return batches_; }

 private:
  int batches_ = 0;
};

struct ModelCheckpointConfig {
  std::string monitor = "val_loss";
  int verbose = 0;
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
  SaveFrequency save_freq = "epoch";
  double initial_value_threshold = kNoValue;
};

/// Saves the model, or with save_weights_only its weights, after epochs or batches. In the path "{epoch:02d}"
/// is the epoch from 1,
/// "{batch}" the batch from 1 (with save_freq in batches), and every value of the logs has its name:
/// "{val_loss:.2f}". Missing folders are made.
class ModelCheckpoint : public MonitorCallback, public KeepsState {
 public:
  using Config = ModelCheckpointConfig;
  /// Throws InvalidArgumentError for a path that does not end in ".keras", ".h5" or ".hdf5", or with
  /// save_weights_only in ".weights.h5".
  explicit ModelCheckpoint(std::string filepath, const Config& config = {});
  template <size_t N>
  explicit ModelCheckpoint(std::string, const NoSuchField (&)[N]) = delete;

  void on_epoch_begin(int epoch, Logs& logs) override;
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  /// Throws IoError where the file cannot be written, NotFoundError for a name in the path that the logs
  /// lack.
  void on_epoch_end(int epoch, Logs& logs) override;
  /// The best value so far, and how many batches went by since a file was written.
  CallbackState state() const override;
  void set_state(const CallbackState& state) override;

 protected:
  /// The model whose files these are.
  virtual const Model& saved_model() const { return model(); }

 private:
  /// `batch` -1: at the end of an epoch.
  void save(int epoch, int64_t batch, const Logs& logs);
  bool is_wanted(int epoch, const Logs& logs, const std::string& path);
  bool is_best(int epoch, double current, const std::string& path);
  void say(int epoch, const std::string& text) const;

  std::string filepath_;
  Config config_;
  int epoch_ = 0;
  int64_t last_batch_ = -1;
  int64_t batches_since_save_ = 0;
};

}  // namespace nyala
