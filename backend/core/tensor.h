#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nyala/backend/core/device.h>
#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/shape.h>
#include <nyala/backend/core/storage.h>

namespace nyala {

class Tape;
class Tensor;

/// A place in the process that outlives every tape; tensors point at it instead of at the tape, so a
/// tensor that outlives its tape is simply no longer tracked.
struct TapeSlot {
  Tape* tape = nullptr;
  uint32_t serial = 0;  // changes when the tape is cleared or destroyed
};

/// What a tensor carries besides its value: its place in a graph that is being drawn, and its Keras mask.
struct TensorNotes {
  virtual ~TensorNotes() = default;
};

/// A handle on a dense, row-major array of one dtype on one device. Copying shares the bytes.
/// A tensor without storage is *abstract*: shape and dtype only, as while a graph is drawn.
/// Thread-safe for concurrent reads.
class Tensor {
 public:
  /// An undefined tensor: no shape, no dtype, no bytes.
  Tensor() = default;
  /// A float32 vector on the current device's host, cpu:0.
  Tensor(std::initializer_list<float> values);
  /// A float32 scalar.
  Tensor(float value);
  /// A copy of host values under a shape. Throws ShapeError if their number is not that of `shape`.
  template <class T>
  Tensor(const std::vector<T>& values, const Shape& shape) : Tensor(from(values, shape)) {}

  /// Abstract: a shape and a dtype.
  static Tensor abstract(const Shape& shape, DType dtype, Device device = {});
  /// A window on `storage` that begins `offset` bytes in.
  static Tensor view_of(StorageRef storage, size_t offset, const Shape& shape, DType dtype);
  /// Uninitialised memory on `device`.
  static Tensor empty(const Shape& shape, DType dtype = DType::float32, Device device = {});
  static Tensor zeros(const Shape& shape, DType dtype = DType::float32, Device device = {});
  static Tensor full(const Shape& shape, double value, DType dtype = DType::float32, Device device = {});
  /// Copies host values. Throws ShapeError if their number is not that of `shape`.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Device device = {}) {
    return from_bytes(values.data(), values.size(), shape, dtype_of<T>, device);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, Device device = {}) {
    return from(std::span<const T>(values), shape, device);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values) {
    return from(values, Shape{static_cast<int64_t>(values.size())});
  }
  template <class T>
  static Tensor scalar(T value, Device device = {}) {
    return from_bytes(&value, 1, Shape{}, dtype_of<T>, device);
  }
  /// Wraps host memory that `owner` keeps alive; no copy. The memory must not change while in use.
  static Tensor wrap(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner);

  bool defined() const { return defined_; }
  explicit operator bool() const { return defined_; }
  /// True for a tensor that has a shape but no bytes.
  bool is_abstract() const { return defined_ && !storage_; }

  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  int64_t num_elements() const { return shape_.num_elements(); }
  size_t bytes() const { return static_cast<size_t>(num_elements()) * size_of(dtype_); }

  /// The address on the device, for kernels only. Null for abstract tensors.
  void* raw() const { return storage_ ? static_cast<char*>(storage_->data()) + offset_ : nullptr; }
  template <class T>
  T* raw_as() const {
    return static_cast<T*>(raw());
  }
  const StorageRef& storage() const { return storage_; }
  size_t storage_offset() const { return offset_; }

  /// Host access to a CPU tensor. Throws DTypeError for another dtype, StateError off the host.
  template <class T>
  std::span<T> data() const {
    return {static_cast<T*>(host_data(dtype_of<T>)), static_cast<size_t>(num_elements())};
  }
  /// Copies the values to the host, waiting for the device. Throws DTypeError for another dtype.
  template <class T>
  std::vector<T> to_vector() const;
  /// The one value of a tensor with one element, as double. Throws ShapeError otherwise.
  double item() const;
  /// Copies the bytes to `destination` on the host, waiting for the device.
  void copy_to_host(void* destination) const;
  /// Copies into this tensor's bytes; `source` has the same shape and dtype, on any device.
  void copy_from(const Tensor& source) const;
  /// Copies `bytes()` bytes from the host.
  void copy_from_host(const void* source) const;
  /// The same values on `device`: a copy, or this tensor when it is there already. A tracked tensor's copy is
  /// tracked, its gradient flows back to this device. A tensor that draws a graph is returned as it is: the
  /// graph moves values to where its calls run.
  Tensor to(Device device) const;
  /// A copy with its own bytes. Untracked.
  Tensor clone() const;
  /// Shares the bytes under another shape of as many elements. Not recorded: see ops::reshape.
  Tensor with_shape(const Shape& shape) const;
  /// Rows [first, first + count) of axis 0, sharing the bytes. Not recorded.
  Tensor rows(int64_t first, int64_t count) const;

  /// NumPy-like text; for abstract tensors shape and dtype.
  std::string to_string() const;

  // Autograd: the tape that tracks this value, if that tape still holds it.
  Tape* tape() const { return slot_ && slot_->serial == serial_ ? slot_->tape : nullptr; }
  uint32_t value_id() const { return value_id_; }
  void track(TapeSlot* slot, uint32_t value_id) {
    slot_ = slot;
    serial_ = slot->serial;
    value_id_ = value_id;
  }
  /// The same value, not tracked by any tape and without notes.
  Tensor detached() const;
  /// The same host bytes under the name of another CPU device: logical CPU devices share their memory.
  /// Throws InvalidArgumentError unless both devices are CPUs (or the same device).
  Tensor alias_on(Device device) const;
  /// Shape, dtype and device without the bytes.
  Tensor shell() const { return abstract(shape_, dtype_, device_); }

  const std::shared_ptr<const TensorNotes>& notes() const { return notes_; }
  void set_notes(std::shared_ptr<const TensorNotes> notes) { notes_ = std::move(notes); }

 private:
  static Tensor from_bytes(const void* values, size_t count, const Shape& shape, DType dtype, Device device);
  void* host_data(DType wanted) const;

  Shape shape_;
  Device device_;
  DType dtype_ = DType::float32;
  bool defined_ = false;
  uint32_t serial_ = 0;
  uint32_t value_id_ = 0;
  TapeSlot* slot_ = nullptr;
  StorageRef storage_;
  size_t offset_ = 0;
  std::shared_ptr<const TensorNotes> notes_;
};

using Tensors = std::vector<Tensor>;

[[noreturn]] void throw_dtype_mismatch(DType held, DType wanted);

template <class T>
std::vector<T> Tensor::to_vector() const {
  if (dtype_of<T> != dtype_) throw_dtype_mismatch(dtype_, dtype_of<T>);
  if constexpr (std::is_same_v<T, bool>) {
    std::unique_ptr<bool[]> values(new bool[static_cast<size_t>(num_elements())]);
    copy_to_host(values.get());
    return std::vector<bool>(values.get(), values.get() + num_elements());
  } else {
    std::vector<T> values(static_cast<size_t>(num_elements()));
    copy_to_host(values.data());
    return values;
  }
}

}  // namespace nyala
