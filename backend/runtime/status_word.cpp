#include <array>
#include <atomic>
#include <cstring>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

namespace {

// code, row, value, limit: the last two take two places each.
using Word = std::array<int32_t, 6>;

int64_t joined(int32_t low, int32_t high) {
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                              static_cast<uint32_t>(low));
}

Status status_of(const Tensor& tensor) {
  Word word{};
  if (tensor.device().kind == DeviceKind::cpu)
    std::memcpy(word.data(), tensor.raw(), sizeof word);  // its kernels have run
  else
    tensor.copy_to_host(word.data());
  return {static_cast<StatusCode>(word[0]), word[1], joined(word[2], word[3]), joined(word[4], word[5])};
}

}  // namespace

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(code == StatusCode::label_out_of_range ? "label " : "index ") + std::to_string(value) +
         " in row " + std::to_string(row) + " is outside [0, " + std::to_string(limit) + ")";
}

Tensor StatusWords::word(Device device) {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, word] : words_)
    if (known == device) return word;
  words_.emplace_back(device, Tensor::zeros({std::tuple_size_v<Word>}, DType::int32, device));
  return words_.back().second;
}

std::pair<Device, Status> StatusWords::first() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [device, word] : words_)
    if (const Status status = status_of(word); !status.ok()) return {device, status};
  return {};
}

Status StatusWords::read() const { return first().second; }

void StatusWords::clear() {
  const Word zeros{};
  const std::lock_guard lock(mutex_);
  for (const auto& [device, word] : words_) word.copy_from_host(zeros.data());
}

void StatusWords::check() {
  const auto [device, status] = first();
  if (status.ok()) return;
  clear();
  throw NumericError(device.to_string() + ": " + status.to_string());
}

void report_status(const Tensor& tensor, const Status& status) {
  int32_t* const word = tensor.raw_as<int32_t>();
  int32_t expected = 0;
  if (!std::atomic_ref<int32_t>(word[0]).compare_exchange_strong(expected, static_cast<int32_t>(status.code)))
    return;
  const auto store = [word](size_t place, int64_t value) {
    std::atomic_ref<int32_t>(word[place]).store(static_cast<int32_t>(value), std::memory_order_relaxed);
  };
  store(1, status.row);
  store(2, status.value & 0xffffffff);
  store(3, status.value >> 32);
  store(4, status.limit & 0xffffffff);
  store(5, status.limit >> 32);
}

}  // namespace nyala
