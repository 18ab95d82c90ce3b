#pragma once

#include <string>
#include <vector>

#include <nyala/api/callbacks/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>

namespace nyala {

/// Writes down every hook as "epoch_begin 0", "train_batch_end 3", ...
class Recorder : public Callback {
 public:
  std::vector<std::string> calls;

  void on_train_begin(Logs&) override { calls.push_back("train_begin"); }
  void on_train_end(Logs&) override { calls.push_back("train_end"); }
  void on_epoch_begin(int epoch, Logs&) override { note("epoch_begin", epoch); }
  void on_epoch_end(int epoch, Logs&) override { note("epoch_end", epoch); }
  void on_train_batch_begin(int64_t batch, Logs&) override { note("batch_begin", batch); }
  void on_train_batch_end(int64_t batch, Logs&) override { note("batch_end", batch); }
  void on_test_begin(Logs&) override { calls.push_back("test_begin"); }
  void on_test_end(Logs&) override { calls.push_back("test_end"); }
  void on_test_batch_begin(int64_t batch, Logs&) override { note("test_batch_begin", batch); }
  void on_test_batch_end(int64_t batch, Logs&) override { note("test_batch_end", batch); }
  void on_predict_begin(Logs&) override { calls.push_back("predict_begin"); }
  void on_predict_end(Logs&) override { calls.push_back("predict_end"); }
  void on_predict_batch_begin(int64_t batch, Logs&) override { note("predict_batch_begin", batch); }
  void on_predict_batch_end(int64_t batch, Logs&) override { note("predict_batch_end", batch); }

  std::vector<std::string> with(const std::string& beginning) const {
    std::vector<std::string> out;
    for (const std::string& call : calls)
      if (call.starts_with(beginning)) out.push_back(call);
    return out;
  }

 private:
  void note(const char* hook, int64_t index) {
    calls.push_back(std::string(hook) + " " + std::to_string(index));
  }
};

/// The rows 0 to n-1 as x, and 2x as y.
inline Tensor counting(int64_t rows, double factor = 1.0) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i) values.push_back(static_cast<float>(static_cast<double>(i) * factor));
  return Tensor::from(values, {rows, 1});
}

/// y = x with a rate of 0: the loss on the rows i is the mean of i^2.
inline Sequential still_line(int64_t steps_per_execution = 1) {
  clear_session();
  Sequential net({Input({1}), Dense(1, {.kernel_initializer = "ones"})}, {.name = "line"});
  net.compile({.optimizer = SGD(0.0), .loss = "mse", .steps_per_execution = steps_per_execution});
  return net;
}

}  // namespace nyala
