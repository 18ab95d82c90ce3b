#pragma once

#include <functional>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/estimator/checkpoint_folder.h>

namespace nyala {

/// Saves checkpoints while fit runs, every `save_steps` steps of the optimizer (0: never) and at the end, and
/// ends training at step `last_step` (0: never).
class CheckpointSaver : public Callback {
 public:
  CheckpointSaver(CheckpointFolder folder, int64_t save_steps, int64_t last_step)
      : folder_(std::move(folder)), save_steps_(save_steps), last_step_(last_step) {}

  void on_train_begin(Logs& logs) override;
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  void on_train_end(Logs& logs) override;

 private:
  void save(int64_t step);

  CheckpointFolder folder_;
  int64_t save_steps_, last_step_;
  int64_t saved_ = 0;  // the step of the newest checkpoint
};

}  // namespace nyala
