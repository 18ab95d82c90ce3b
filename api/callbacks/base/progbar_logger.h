#pragma once

#include <memory>

#include <nyala/api/callbacks/base/callback.h>

namespace nyala {

class ProgressBar;

/// Shows the progress of fit, evaluate and predict as Keras does; fit adds one by itself. Values are fetched
/// from the device only when the bar is redrawn.
class ProgbarLogger : public Callback {
 public:
  ProgbarLogger();

  void on_train_begin(Logs& logs) override;
  void on_epoch_begin(int epoch, Logs& logs) override;
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_test_begin(Logs& logs) override;
  void on_test_batch_end(int64_t batch, Logs& logs) override;
  void on_test_end(Logs& logs) override;
  void on_predict_begin(Logs& logs) override;
  void on_predict_batch_end(int64_t batch, Logs& logs) override;
  void on_predict_end(Logs& logs) override;

 private:
  void begin();
  void update(int64_t batch, Logs& logs);
  void finish(Logs& logs);

  std::shared_ptr<ProgressBar> bar_;
  int64_t target_ = -1;
  int64_t seen_ = 0;
};

}  // namespace nyala
