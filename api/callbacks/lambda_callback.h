#pragma once

#include <functional>

#include <nyala/api/callbacks/base/callback.h>

namespace nyala {

struct LambdaCallbackConfig {
  std::function<void(int epoch, Logs& logs)> on_epoch_begin = {};
  std::function<void(int epoch, Logs& logs)> on_epoch_end = {};
  std::function<void(Logs& logs)> on_train_begin = {};
  std::function<void(Logs& logs)> on_train_end = {};
  std::function<void(int64_t batch, Logs& logs)> on_train_batch_begin = {};
  std::function<void(int64_t batch, Logs& logs)> on_train_batch_end = {};
  std::function<void(Logs& logs)> on_test_begin = {};
  std::function<void(Logs& logs)> on_test_end = {};
  std::function<void(int64_t batch, Logs& logs)> on_test_batch_begin = {};
  std::function<void(int64_t batch, Logs& logs)> on_test_batch_end = {};
  std::function<void(Logs& logs)> on_predict_begin = {};
  std::function<void(Logs& logs)> on_predict_end = {};
  std::function<void(int64_t batch, Logs& logs)> on_predict_batch_begin = {};
  std::function<void(int64_t batch, Logs& logs)> on_predict_batch_end = {};
};

/// Hooks given as functions: `LambdaCallback({.on_epoch_end = [](int epoch, Logs& logs) { ... }})`.
class LambdaCallback : public Callback {
 public:
  using Config = LambdaCallbackConfig;
  explicit LambdaCallback(Config config) : config_(std::move(config)) {}
  template <size_t N>
  explicit LambdaCallback(const NoSuchField (&)[N]) = delete;

  void on_epoch_begin(int epoch, Logs& logs) override {
    if (config_.on_epoch_begin) config_.on_epoch_begin(epoch, logs);
  }
  void on_epoch_end(int epoch, Logs& logs) override {
    if (config_.on_epoch_end) config_.on_epoch_end(epoch, logs);
  }
  void on_train_begin(Logs& logs) override {
    if (config_.on_train_begin) config_.on_train_begin(logs);
  }
  void on_train_end(Logs& logs) override {
    if (config_.on_train_end) config_.on_train_end(logs);
  }
  void on_train_batch_begin(int64_t batch, Logs& logs) override {
    if (config_.on_train_batch_begin) config_.on_train_batch_begin(batch, logs);
  }
  void on_train_batch_end(int64_t batch, Logs& logs) override {
    if (config_.on_train_batch_end) config_.on_train_batch_end(batch, logs);
  }
  void on_test_begin(Logs& logs) override {
    if (config_.on_test_begin) config_.on_test_begin(logs);
  }
  void on_test_end(Logs& logs) override {
    if (config_.on_test_end) config_.on_test_end(logs);
  }
  void on_test_batch_begin(int64_t batch, Logs& logs) override {
    if (config_.on_test_batch_begin) config_.on_test_batch_begin(batch, logs);
  }
  void on_test_batch_end(int64_t batch, Logs& logs) override {
    if (config_.on_test_batch_end) config_.on_test_batch_end(batch, logs);
  }
  void on_predict_begin(Logs& logs) override {
    if (config_.on_predict_begin) config_.on_predict_begin(logs);
  }
  void on_predict_end(Logs& logs) override {
    if (config_.on_predict_end) config_.on_predict_end(logs);
  }
  void on_predict_batch_begin(int64_t batch, Logs& logs) override {
    if (config_.on_predict_batch_begin) config_.on_predict_batch_begin(batch, logs);
  }
  void on_predict_batch_end(int64_t batch, Logs& logs) override {
    if (config_.on_predict_batch_end) config_.on_predict_batch_end(batch, logs);
  }

 private:
  Config config_;
};

}  // namespace nyala
