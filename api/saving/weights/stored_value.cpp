#include <nyala/api/saving/weights/stored_value.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace nyala {

namespace {

/// Null where the bytes are not aligned as the dtype wants it.
std::optional<Tensor> wrapped(const hdf5::Dataset& dataset, std::span<const std::byte> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % size_of(dataset.dtype()) != 0) return std::nullopt;
  const auto keep = std::const_pointer_cast<void>(dataset.owner());
  return Tensor::wrap(const_cast<std::byte*>(bytes.data()), dataset.shape(), dataset.dtype(), keep);
}

Tensor copied(const hdf5::Dataset& dataset) {
  const Tensor value = Tensor::empty(dataset.shape(), dataset.dtype(), Device(DeviceKind::cpu, 0));
  dataset.read({static_cast<std::byte*>(value.raw()), value.bytes()});
  return value;
}

}  // namespace

StoredValue::StoredValue(const hdf5::Dataset& dataset) : dataset_(dataset) {
  if (const auto view = dataset_.view()) ready_ = wrapped(dataset_, *view);
  if (!ready_ && !dataset_.waits_in_file()) ready_ = copied(dataset_);
}

Tensor StoredValue::read() const { return ready_ ? *ready_ : copied(dataset_); }

StoredArray StoredValue::array() const {
  StoredArray array{dataset_.path(), shape(), dtype(), [value = *this] { return value.read(); }};
  if (!ready_) array.copy = [dataset = dataset_](std::span<std::byte> out) { dataset.read(out); };
  return array;
}

}  // namespace nyala
