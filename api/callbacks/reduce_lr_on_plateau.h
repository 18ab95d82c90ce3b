#pragma once

#include <nyala/api/callbacks/base/keeps_state.h>
#include <nyala/api/callbacks/monitor_callback.h>

namespace nyala {

struct ReduceLROnPlateauConfig {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int patience = 10;
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int cooldown = 0;
  double min_lr = 0.0;
};

/// Multiplies the learning rate by `factor`, down to min_lr, after `patience` epochs without improvement;
/// then waits `cooldown` epochs before it counts again. Adds learning_rate to the logs.
class ReduceLROnPlateau : public MonitorCallback, public KeepsState {
 public:
  using Config = ReduceLROnPlateauConfig;
  /// Throws InvalidArgumentError for a factor >= 1.
  explicit ReduceLROnPlateau(const Config& config = {});
  template <size_t N>
  explicit ReduceLROnPlateau(const NoSuchField (&)[N]) = delete;

  void on_train_begin(Logs& logs) override;
  /// Throws StateError if the optimizer's learning rate is a schedule and would have to be reduced.
  void on_epoch_end(int epoch, Logs& logs) override;
  CallbackState state() const override;
  void set_state(const CallbackState& state) override;

 private:
  bool reduce(int epoch) const;

  Config config_;
  int wait_ = 0;
  int cooldown_left_ = 0;
};

}  // namespace nyala
