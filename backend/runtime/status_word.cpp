#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

namespace {

struct Words {
  std::mutex mutex;
  std::map<Device, Tensor> of;
};

Words& words() {
  static Words* const all = new Words;  // kernels may run while static objects are being destroyed
  return *all;
}

}  // namespace

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(code == StatusCode::label_out_of_range ? "label " : "index ") + std::to_string(value) +
         " in row " + std::to_string(row) + " is outside [0, " + std::to_string(limit) + ")";
}

Tensor status_word(Device device) {
  Words& all = words();
  std::lock_guard lock(all.mutex);
  Tensor& word = all.of[device];
  if (!word.defined()) word = Tensor::zeros({4}, DType::int32, device);
  return word;
}

void report_status(int32_t* word, const Status& status) {
  int32_t expected = 0;
  if (!std::atomic_ref<int32_t>(word[0]).compare_exchange_strong(expected, static_cast<int32_t>(status.code)))
    return;
  std::atomic_ref<int32_t>(word[1]).store(status.row, std::memory_order_relaxed);
  std::atomic_ref<int32_t>(word[2]).store(status.value, std::memory_order_relaxed);
  std::atomic_ref<int32_t>(word[3]).store(status.limit, std::memory_order_relaxed);
}

Status read_status(Device device) {
  std::array<int32_t, 4> word{};
  status_word(device).copy_to_host(word.data());
  return {static_cast<StatusCode>(word[0]), word[1], word[2], word[3]};
}

void clear_status(Device device) {
  const std::array<int32_t, 4> zeros{};
  status_word(device).copy_from_host(zeros.data());
}

void check_status(Device device) {
  const Status status = read_status(device);
  if (status.ok()) return;
  clear_status(device);
  throw NumericError(device.to_string() + ": " + status.to_string());
}

}  // namespace nyala
