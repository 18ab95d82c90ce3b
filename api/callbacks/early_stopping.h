#pragma once

#include <nyala/api/base/fields.h>
#include <nyala/api/callbacks/base/keeps_state.h>
#include <nyala/api/callbacks/monitor_callback.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

struct EarlyStoppingConfig {
  std::string monitor = "val_loss";
  double min_delta = 0.0;
  int patience = 0;
  int verbose = 0;
  std::string mode = "auto";
  double baseline = kNoValue;
  bool restore_best_weights = false;
  int start_from_epoch = 0;
};

/// Ends training after `patience` epochs in which the monitored value did not become better by more than
/// min_delta; never in the first epoch. Improvements that stay worse than `baseline` do not start the
/// patience afresh.
class EarlyStopping : public MonitorCallback, public KeepsState {
 public:
  using Config = EarlyStoppingConfig;
  explicit EarlyStopping(const Config& config = {});
  template <size_t N>
  explicit EarlyStopping(const NoSuchField (&)[N]) = delete;

  /// The epoch after which training was stopped, from 0; 0 if it was not.
  int stopped_epoch() const { return stopped_epoch_; }
  int best_epoch() const { return best_epoch_; }

  void on_train_begin(Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;
  CallbackState state() const override;
  void set_state(const CallbackState& state) override;

 private:
  void keep_weights(int epoch);

  Config config_;
  int wait_ = 0;
  int stopped_epoch_ = 0;
  int best_epoch_ = 0;
  std::vector<Tensor> best_weights_;
  bool has_weights_ = false;
};

}  // namespace nyala
