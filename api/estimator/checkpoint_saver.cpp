#include <nyala/api/estimator/checkpoint_saver.h>

#include <nyala/api/model/model.h>

namespace nyala {

void CheckpointSaver::on_train_begin(Logs&) { saved_ = model().optimizer().iterations(); }

void CheckpointSaver::save(int64_t step) {
  folder_.save(model());
  saved_ = step;
}

void CheckpointSaver::on_train_batch_end(int64_t, Logs&) {
  const int64_t step = model().optimizer().iterations();
  if (last_step_ > 0 && step >= last_step_) model().set_stop_training(true);
  if (save_steps_ > 0 && step >= saved_ + save_steps_) save(step);
}

void CheckpointSaver::on_train_end(Logs&) {
  if (const int64_t step = model().optimizer().iterations(); step != saved_) save(step);
}

}  // namespace nyala
