// A kernel cannot throw and the host does not wait for it, so what it finds wrong goes into a small tensor in
// its device's memory: the first report wins by a compare and exchange on the code, its numbers follow as
// pairs of 32 bits. The host looks where it need not wait for the device, at other devices' words when logs
// are read and at the end of an epoch.
#include <array>
#include <atomic>
#include <cstring>
#include <limits>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

using namespace nyala::detail;

namespace {

// Code, then row, value and limit in two places each, then the number of sizes and the sizes.
using Places = std::array<int32_t, 8 + Shape::kMaxRank>;

int64_t joined(int32_t low, int32_t high) {
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                              static_cast<uint32_t>(low));
}

Status status_of(const Tensor& tensor) {
  Places word{};
  if (is_on_host(tensor.device()))
    std::memcpy(word.data(), tensor.raw(), sizeof word);  // its kernels have run
  else
    tensor.copy_to_host(word.data());
  Status status{static_cast<StatusCode>(word[0]), joined(word[1], word[2]), joined(word[3], word[4]),
                joined(word[5], word[6])};
  for (size_t axis = 0; axis < static_cast<size_t>(word[7]); ++axis) status.shape.append(word[8 + axis]);
  return status;
}

/// "in row 3", "at (3, 1)".
std::string place_of(const Status& status) {
  if (status.shape.rank() < 2) return "in row " + std::to_string(status.row);
  int64_t left = status.row;
  Shape place = status.shape;
  for (int axis = place.rank() - 1; axis > 0; --axis) {
    place.set(axis, left % status.shape[axis]);
    left /= status.shape[axis];
  }
  place.set(0, left);
  return "at " + place.to_string();
}

}  // namespace

std::string Status::to_string() const {
  if (ok()) return "ok";
  if (code == StatusCode::not_in_vocabulary)
    return std::to_string(value) + " " + place_of(*this) + " is not in the vocabulary of " +
           std::to_string(limit) + "; num_oov_indices = 1 takes such values, too";
  const bool is_known = value != std::numeric_limits<int64_t>::min();
  return std::string(code == StatusCode::label_out_of_range ? "label " : "index ") +
         (is_known ? std::to_string(value) : "NaN, or at the ends of 64 bits or beyond,") + " " +
         place_of(*this) + " is outside [0, " + std::to_string(limit) + ")";
}

StatusWords::Word& StatusWords::word_of(Device device) {
  for (Word& word : words_)
    if (word.device == device) return word;
  return words_.emplace_back(Word{device, Tensor::zeros({std::tuple_size_v<Places>}, DType::int32, device)});
}

Tensor StatusWords::word(Device device) {
  const std::lock_guard lock(mutex_);
  return word_of(device).tensor;
}

void StatusWords::set_rows(Device device, int64_t first, int64_t count) {
  const std::lock_guard lock(mutex_);
  Word& word = word_of(device);
  word.first_row = first;
  word.rows = count;
}

std::pair<Device, Status> StatusWords::first() const {
  const std::lock_guard lock(mutex_);
  for (const Word& word : words_) {
    Status status = status_of(word.tensor);
    if (status.ok()) continue;
    if (status.shape.rank() > 0 && status.shape[0] == word.rows)
      status.row += word.first_row * status.shape.slice(1, status.shape.rank()).num_elements();
    return {word.device, status};
  }
  return {};
}

Status StatusWords::read() const { return first().second; }

// Words of other devices may be written at this time: they are not even read.
bool StatusWords::has_report_on_host(std::optional<Device> device) const {
  const std::lock_guard lock(mutex_);
  for (const Word& word : words_) {
    if (!is_on_host(word.device) || (device && word.device != *device)) continue;
    if (std::atomic_ref<int32_t>(*word.tensor.raw_as<int32_t>()).load() != 0) return true;
  }
  return false;
}

void StatusWords::clear() {
  const Places zeros{};
  const std::lock_guard lock(mutex_);
  for (const Word& word : words_) word.tensor.copy_from_host(zeros.data());
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
  const auto store_wide = [store](size_t place, int64_t value) {
    store(place, value & 0xffffffff);
    store(place + 1, value >> 32);
  };
  store_wide(1, status.row);
  store_wide(3, status.value);
  store_wide(5, status.limit);
  store(7, status.shape.rank());
  for (int axis = 0; axis < status.shape.rank(); ++axis)
    store(static_cast<size_t>(8 + axis), status.shape[axis]);
}

}  // namespace nyala
