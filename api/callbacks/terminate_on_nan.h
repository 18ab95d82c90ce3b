#pragma once

#include <nyala/api/callbacks/base/callback.h>

namespace nyala {

struct TerminateOnNaNConfig {
  bool raise_error = false;
};

/// Ends training when the loss is NaN or infinite. Looks at the loss after every batch, so it waits for the
/// device.
class TerminateOnNaN : public Callback {
 public:
  using Config = TerminateOnNaNConfig;
  explicit TerminateOnNaN(const Config& config = {}) : config_(config) {}
  template <size_t N>
  explicit TerminateOnNaN(const NoSuchField (&)[N]) = delete;

  /// Throws NumericError instead of ending training if raise_error was set.
  void on_train_batch_end(int64_t batch, Logs& logs) override;

 private:
  Config config_;
};

}  // namespace nyala
