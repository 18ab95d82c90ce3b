#include <nyala/api/callbacks/base/progbar_logger.h>

#include <nyala/api/base/output.h>
#include <nyala/api/utils/progress_bar.h>

namespace nyala {

namespace {

std::vector<ProgressBar::Value> values_of(const Logs& logs) { return {logs.begin(), logs.end()}; }

}  // namespace

ProgbarLogger::ProgbarLogger() = default;

void ProgbarLogger::begin() {
  seen_ = 0;
  bar_ = std::make_shared<ProgressBar>(ProgressBarConfig{
      .target = target_, .verbose = parameters().verbose, .stateless_metrics = std::vector<std::string>{}});
}

void ProgbarLogger::update(int64_t batch, Logs& logs) {
  seen_ = batch + 1;  // chunks of steps_per_execution count as whole ones
  if (bar_->is_due()) bar_->update(seen_, values_of(logs), false);
}

void ProgbarLogger::finish(Logs& logs) {
  if (target_ < 0) {
    target_ = seen_;
    bar_->set_target(target_);
  }
  bar_->update(target_, values_of(logs), true);
}

void ProgbarLogger::on_train_begin(Logs&) { target_ = parameters().steps; }

void ProgbarLogger::on_epoch_begin(int epoch, Logs&) {
  begin();
  if (parameters().verbose != 0 && parameters().epochs > 1)
    detail::print("Epoch " + std::to_string(epoch + 1) + "/" + std::to_string(parameters().epochs) + "\n");
}

void ProgbarLogger::on_train_batch_end(int64_t batch, Logs& logs) { update(batch, logs); }

void ProgbarLogger::on_epoch_end(int, Logs& logs) { finish(logs); }

void ProgbarLogger::on_test_begin(Logs&) {
  target_ = parameters().steps;
  begin();
}

void ProgbarLogger::on_test_batch_end(int64_t batch, Logs& logs) { update(batch, logs); }

void ProgbarLogger::on_test_end(Logs& logs) { finish(logs); }

void ProgbarLogger::on_predict_begin(Logs&) {
  target_ = parameters().steps;
  begin();
}

void ProgbarLogger::on_predict_batch_end(int64_t batch, Logs& logs) { update(batch, logs); }

void ProgbarLogger::on_predict_end(Logs& logs) { finish(logs); }

}  // namespace nyala
