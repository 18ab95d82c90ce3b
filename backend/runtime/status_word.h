#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

/// What a kernel found wrong with values that the host does not look at.
enum class StatusCode : int32_t {
  ok = 0,
  label_out_of_range = 1,
  index_out_of_range = 2,
  not_in_vocabulary = 3,
};

/// The first trouble on a device since the last clear.
struct Status {
  StatusCode code = StatusCode::ok;
  int64_t row = 0;    // place in the labels or indices, counted in row-major order
  int64_t value = 0;  // the label or index
  int64_t limit = 0;  // it had to be in [0, limit), or among so many
  Shape shape = {};   // of the indices
  bool ok() const { return code == StatusCode::ok; }
  /// "label 12 in row 3 is outside [0, 10)", "index 12 at (3, 1) is outside [0, 10)".
  std::string to_string() const;
};

/// The sticky words of one model's call: on each device that works for it an int32 tensor, which dispatch()
/// passes to the kernels of ops that report (OpDef::reports_status), so that nothing is read by the host
/// within a step. Kernels of other calls report to words of their own. Thread-safe.
class StatusWords {
 public:
  /// The word in the memory of `device`, made when first asked for.
  Tensor word(Device device);
  /// The rows of the batch that `device` works on: indices with `count` rows are named by their place in the
  /// whole batch.
  void set_rows(Device device, int64_t first, int64_t count);
  /// Waits for the devices that have a word and copies it to the host: the first trouble, ok if there is
  /// none. Not within a step.
  Status read() const;
  /// Whether something stands in a word in host memory, of `device` or, where it is not given, of any CPU.
  /// Waits for nothing: CPU kernels that the calling thread started have run.
  bool has_report_on_host(std::optional<Device> device = {}) const;
  /// Sets all words to ok.
  void clear();
  /// Throws NumericError with device and text of the first trouble, having cleared the words.
  void check();

 private:
  struct Word {
    Device device;
    Tensor tensor;
    int64_t first_row = 0, rows = 0;
  };
  Word& word_of(Device device);
  std::pair<Device, Status> first() const;

  mutable Mutex mutex_;
  std::vector<Word> words_;
};

/// While it lives, kernels that this thread starts, and the replicas that work for it, report to `words`; who
/// opened it looks at them. Outside of one every op that reports looks at once, and throws NumericError.
class StatusScope {
 public:
  explicit StatusScope(StatusWords& words) : scoped_(detail::thread_context().status, &words) {}

 private:
  ScopedValue<StatusWords*> scoped_;
};

/// For kernels: keeps `status` in the word unless an earlier one stands there. Thread-safe.
void report_status(const Tensor& word, const Status& status);

}  // namespace nyala
