#pragma once

#include <cstdint>
#include <string>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What a kernel found wrong with values that the host does not look at.
enum class StatusCode : int32_t { ok = 0, label_out_of_range = 1, index_out_of_range = 2 };

/// The first trouble on a device since the last clear.
struct Status {
  StatusCode code = StatusCode::ok;
  int32_t row = 0;    // of the tensor the kernel saw
  int32_t value = 0;  // the label or index, clamped to 32 bits
  int32_t limit = 0;  // it had to be in [0, limit)
  bool ok() const { return code == StatusCode::ok; }
  /// "label 12 in row 3 is outside [0, 10)".
  std::string to_string() const;
};

/// The sticky word of `device`: an int32 tensor of 4 values in its memory, which ops pass to their kernels as
/// an input, so that nothing is read by the host within a step. Thread-safe.
Tensor status_word(Device device);

/// For kernels: keeps `status` in the word unless an earlier one stands there. Thread-safe.
void report_status(int32_t* word, const Status& status);

/// Waits for the device and copies its word to the host: at the end of an epoch, not within a step.
Status read_status(Device device);

/// Sets the word of `device` to ok.
void clear_status(Device device);

/// Throws NumericError with the text of the status, having cleared it, unless it is ok.
void check_status(Device device);

}  // namespace nyala
