#pragma once

#include <array>
#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nyala/backend/core/axes.h>
#include <nyala/backend/core/device.h>
#include <nyala/backend/core/dtype.h>
#include <nyala/backend/core/indexing.h>
#include <nyala/backend/core/nested_values.h>
#include <nyala/backend/core/number.h>
#include <nyala/backend/core/shape.h>
#include <nyala/backend/core/storage.h>

namespace nyala {

class Operand;
class Slice;
class Tape;
class Tensor;
class TensorRowIterator;

/// A place in the process that outlives every tape; tensors point at it instead of at the tape, so a
/// tensor that outlives its tape is simply no longer tracked.
struct TapeSlot {
  Tape* tape = nullptr;
  uint32_t serial = 0;  // changes when the tape is cleared or destroyed
};

namespace detail {

/// A bool that leaves false behind where it is moved from.
class MovedFlag {
 public:
  MovedFlag(bool value = false) : value_(value) {}
  MovedFlag(const MovedFlag&) = default;
  MovedFlag(MovedFlag&& other) noexcept : value_(std::exchange(other.value_, false)) {}
  MovedFlag& operator=(const MovedFlag&) = default;
  MovedFlag& operator=(MovedFlag&& other) noexcept {
    value_ = std::exchange(other.value_, false);
    return *this;
  }
  operator bool() const { return value_; }

 private:
  bool value_;
};

}  // namespace detail

/// What a tensor carries besides its value: its place in a graph that is being traced, and its Keras mask.
struct TensorMetadata {
  virtual ~TensorMetadata() = default;
};

/// A handle on a dense, row-major array of one dtype on one device. Copying shares the bytes.
/// A tensor without storage is *abstract*: shape and dtype only, as while a graph is traced.
/// What makes a tensor makes it on current_device() unless told where: a replica's on the replica's device. A
/// scalar of cpu:0 follows the tensors that it meets in an op.
/// An empty tensor (the default constructor's) has shape (), float32 and cpu:0 and no bytes; every member
/// that needs a value throws StateError. One that was moved from is empty, too, whatever shape it shows.
/// Thread-safe for concurrent reads.
class Tensor {
 public:
  /// An empty tensor: no value.
  Tensor() = default;
  /// Float32 from lists: {1, 2, 3} has shape (3), {{1, 2}, {3, 4}} shape (2, 2), {{1}, {2}} shape (2, 1).
  /// Throws ShapeError for lists that are not regular.
  Tensor(std::initializer_list<NestedValues> values);
  /// A float32 scalar.
  Tensor(float value);
  /// A copy of host values under a shape. Throws ShapeError if their number is not that of `shape`.
  template <class T>
  Tensor(const std::vector<T>& values, const Shape& shape) : Tensor(from(values, shape)) {}

  /// Abstract: a shape and a dtype.
  static Tensor abstract(const Shape& shape, DType dtype, Device device = {});
  /// A window on `storage` that begins `offset` bytes in.
  static Tensor view_of(StorageRef storage, size_t offset, const Shape& shape, DType dtype);
  /// Uninitialised memory on `device`, by default on the host: for loops that fill it.
  static Tensor empty(const Shape& shape, DType dtype = DType::float32, Device device = {});
  /// These three are abstract where a size is unknown, inside a layer's call() while it is traced. Elsewhere
  /// that throws ShapeError.
  static Tensor zeros(const Shape& shape, DType dtype = DType::float32, Device device = current_device());
  static Tensor ones(const Shape& shape, DType dtype = DType::float32, Device device = current_device());
  static Tensor full(const Shape& shape, Number value, DType dtype = DType::float32,
                     Device device = current_device());
  /// start, start + step, ... before `stop`. Without a dtype int32 where all three are whole, else float32.
  static Tensor arange(double stop);
  static Tensor arange(double start, double stop, double step = 1.0, std::optional<DType> dtype = {});
  /// Copies host values. Throws ShapeError if their number is not that of `shape`.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Device device = current_device()) {
    return from_bytes(values.data(), values.size(), shape, dtype_of<T>, device);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape, Device device = current_device()) {
    return from(std::span<const T>(values), shape, device);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values) {
    return from(values, Shape{static_cast<int64_t>(values.size())});
  }
  template <class T>
  static Tensor scalar(T value, Device device = current_device()) {
    return from_bytes(&value, 1, Shape{}, dtype_of<T>, device);
  }
  /// Wraps host memory that `owner` keeps alive; no copy. The memory must not change while in use.
  static Tensor wrap(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner);

  bool defined() const { return defined_; }
  /// Whether the one element is not 0, as in Python: `if (loss < best)`. Waits for the device. Throws
  /// ShapeError for another number of elements, StateError for an empty or abstract tensor; whether there is
  /// a tensor at all says defined().
  explicit operator bool() const;
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
  /// tracked, its gradient flows back to this device. A tensor that traces a graph is returned as it is: the
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
  friend std::ostream& operator<<(std::ostream& out, const Tensor& x) { return write(out, x); }

  // NumPy's ways, from here to the rows. They are ops: differentiable, and recorded on symbolic tensors. What
  // shares this tensor's bytes says so; as of ops::, all others give bytes of their own.

  /// x[0], x[slice(1, 3)]: axis 0. Reads as a tensor of its own, and takes assignments: see Slice. Throws
  /// ShapeError for an index outside.
  Slice operator[](const Index& index) const;
  /// x(slice(1, 3), ellipsis, -1): one entry per axis; axes behind the last entry are taken whole.
  template <class... More>
  Slice operator()(const Index& first, const More&... more) const;
  /// x[mask]: the entries at which a bool tensor, of the shape of x's first axes, is true: (number of them) +
  /// the axes behind. x[indices]: ops::take of axis 0. Differentiable in x. Reads a mask, waiting for the
  /// device: StateError for a symbolic one. Takes no assignments: ops::where(mask, y, x) makes a tensor.
  template <std::derived_from<Tensor> T>
  const Tensor operator[](const T& places) const {
    return entries_at(places);
  }
  /// One element: x.at<float>({0, 1}). Waits for the device. Throws ShapeError for an index outside,
  /// DTypeError for another dtype.
  template <class T>
  T at(std::initializer_list<int64_t> index) const {
    T value;
    read_element(std::span<const int64_t>(index.begin(), index.size()), dtype_of<T>, &value);
    return value;
  }

  /// Over one axis, several, or all (none given), as ops:: has them.
  Tensor sum(const Axes& axes = {}, bool keepdims = false) const;
  Tensor mean(const Axes& axes = {}, bool keepdims = false) const;
  Tensor max(const Axes& axes = {}, bool keepdims = false) const;
  Tensor min(const Axes& axes = {}, bool keepdims = false) const;
  Tensor prod(const Axes& axes = {}, bool keepdims = false) const;
  Tensor var(const Axes& axes = {}, bool keepdims = false) const;
  Tensor std(const Axes& axes = {}, bool keepdims = false) const;
  Tensor any(const Axes& axes = {}, bool keepdims = false) const;
  Tensor all(const Axes& axes = {}, bool keepdims = false) const;
  Tensor argmax(std::optional<int> axis = {}, bool keepdims = false) const;
  Tensor argmin(std::optional<int> axis = {}, bool keepdims = false) const;

  /// One size may be -1: what is left. Shares the bytes, as ravel() and squeeze() do.
  Tensor reshape(const Shape& shape) const;
  /// All elements as one axis.
  Tensor ravel() const;
  Tensor squeeze(const Axes& axes = {}) const;
  /// Without axes their order is reversed.
  Tensor transpose(const Axes& axes = {}) const;
  Tensor T() const { return transpose(); }
  Tensor swapaxes(int first, int second) const;
  /// x.astype("int32"). Shares the bytes where x has the dtype.
  Tensor astype(DType dtype) const;
  /// Every value cut to [low, high].
  Tensor clip(double low, double high) const;

  /// This handle becomes the result, as `x = x + y` does: other handles on the old bytes keep those.
  Tensor& operator+=(const Operand& y) &;
  Tensor& operator-=(const Operand& y) &;
  Tensor& operator*=(const Operand& y) &;
  Tensor& operator/=(const Operand& y) &;

  /// The entries of axis 0: for (const Tensor row : x). Throws ShapeError for a scalar or an unknown size.
  TensorRowIterator begin() const;
  TensorRowIterator end() const;

  // Autograd: the tape that tracks this value, if that tape still holds it.
  Tape* tape() const { return slot_ && slot_->serial == serial_ ? slot_->tape : nullptr; }
  uint32_t value_id() const { return value_id_; }
  void track(TapeSlot* slot, uint32_t value_id) {
    slot_ = slot;
    serial_ = slot->serial;
    value_id_ = value_id;
  }
  /// The same value, not tracked by any tape and without metadata.
  Tensor detached() const;
  /// The same host bytes under the name of another CPU device: logical CPU devices share their memory.
  /// Throws InvalidArgumentError unless both devices are CPUs (or the same device).
  Tensor alias_on(Device device) const;
  /// Whether the bytes are one of several copies of a variable: its slices take no assignments, which the
  /// other copies would not see.
  bool is_one_of_copies() const { return one_of_copies_; }
  void set_one_of_copies() { one_of_copies_ = true; }
  /// Shape, dtype and device without the bytes.
  Tensor as_abstract() const { return abstract(shape_, dtype_, device_); }

  const std::shared_ptr<const TensorMetadata>& metadata() const { return metadata_; }
  void set_metadata(std::shared_ptr<const TensorMetadata> metadata) { metadata_ = std::move(metadata); }

 private:
  static Tensor from_bytes(const void* values, size_t count, const Shape& shape, DType dtype, Device device);
  static std::ostream& write(std::ostream& out, const Tensor& x);
  void* host_data(DType wanted) const;
  Tensor entries_at(const Tensor& places) const;
  void read_element(std::span<const int64_t> index, DType wanted, void* value) const;

  Shape shape_;
  Device device_;
  DType dtype_ = DType::float32;
  detail::MovedFlag defined_;
  bool one_of_copies_ = false;
  uint32_t serial_ = 0;
  uint32_t value_id_ = 0;
  TapeSlot* slot_ = nullptr;
  StorageRef storage_;
  size_t offset_ = 0;
  std::shared_ptr<const TensorMetadata> metadata_;
};

using Tensors = std::vector<Tensor>;

/// One side of an op of two: a tensor, or a number as C++ writes it, which takes the dtype of the tensor on
/// the other side where that holds its kind, exactly. A whole number beside floating tensors is floating; a
/// fraction beside integers makes them float32, as in Keras; a whole number beside bool tensors, or one that
/// the other side's integers cannot hold, makes them int32 or int64. Two numbers are int32, float32 or bool.
/// Refers to what it was made from: for parameters only.
class Operand {
 public:
  Operand(const Tensor& x) : tensor_(&x) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number) : number_(number) {}
  Operand(std::initializer_list<NestedValues> values) : held_(values), tensor_(&*held_) {}
  /// What converts to a tensor: an Input.
  template <class T>
  requires(!std::is_arithmetic_v<T> && !std::derived_from<T, Tensor> && std::convertible_to<const T&, Tensor>)
      Operand(const T& x)
      : held_(x), tensor_(&*held_) {}
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  /// Null for a number.
  const Tensor* tensor() const { return tensor_; }
  const Number& number() const { return number_; }

 private:
  Number number_ = 0;
  std::optional<Tensor> held_;
  const Tensor* tensor_ = nullptr;
};

namespace detail {

[[noreturn]] void throw_dtype_mismatch(DType held, DType wanted);
/// StateError "where: the tensor is empty ...".
[[noreturn]] void throw_empty_tensor(std::string_view where);

}  // namespace detail

template <class T>
std::vector<T> Tensor::to_vector() const {
  if (!defined_) detail::throw_empty_tensor("to_vector");
  if (dtype_of<T> != dtype_) detail::throw_dtype_mismatch(dtype_, dtype_of<T>);
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

/// Where the elements of a slice lie in the bytes of a tensor: offset and strides count elements.
struct SliceView {
  int64_t offset = 0;
  Shape sizes;
  std::array<int64_t, Shape::kMaxRank> strides{};
};

/// What x[...] and x(...) give: a tensor of its own (a copy, recorded like every op), which takes assignments
/// where it stands: `x[0] = 1.0`, `x(slice(1, 3), -1) += y`, `x[0][1] = y` write into x's bytes, which all
/// handles on x and views of it share, in x's dtype and broadcast to the slice. They throw StateError where a
/// gradient tape tracks x or x is symbolic, since the tape and the graph know nothing of it, and where x is
/// the value of a variable with several copies, of which they would change one: variable.assign(...). Once it
/// has a name it is no place to write to: `auto row = x[0]; row = y;` does not compile. Write `Tensor row =
/// x[0];` for a tensor that may be assigned and leaves x alone.
class Slice : public Tensor {
 public:
  Slice(const Tensor& base, std::span<const Index> indices);

  Slice(const Slice&) = default;
  Slice(Slice&&) = default;
  Slice& operator=(const Slice&) & = delete;
  Slice& operator=(const Operand&) & = delete;
  /// Throw ShapeError where the value does not broadcast to the slice, DTypeError where += and its like give
  /// what x's dtype is no kind of, as NumPy does: a fraction in integers, a number in bool.
  void operator=(const Slice& value) && { assign(value); }
  void operator=(const Operand& value) && { assign(value); }
  void operator+=(const Operand& value) &&;
  void operator-=(const Operand& value) &&;
  void operator*=(const Operand& value) &&;
  void operator/=(const Operand& value) &&;

  using Tensor::operator[];
  Slice operator[](const Index& index) const { return Slice(*this, std::span(&index, 1), view_); }
  template <class... More>
  Slice operator()(const Index& first, const More&... more) const {
    const std::array<Index, 1 + sizeof...(More)> indices{first, Index(more)...};
    return Slice(*this, indices, view_);
  }

 private:
  Slice(const Slice& outer, std::span<const Index> indices, const SliceView& view);
  void assign(const Operand& value) const;
  void update(std::string_view op, const Tensor& result) const;

  Tensor base_;
  SliceView view_;
};

template <class... More>
Slice Tensor::operator()(const Index& first, const More&... more) const {
  const std::array<Index, 1 + sizeof...(More)> indices{first, Index(more)...};
  return Slice(*this, indices);
}

inline Slice Tensor::operator[](const Index& index) const { return Slice(*this, std::span(&index, 1)); }

/// Walks axis 0 of a tensor.
class TensorRowIterator {
 public:
  TensorRowIterator(const Tensor& x, int64_t row) : x_(x), row_(row) {}
  Tensor operator*() const { return x_[row_]; }
  TensorRowIterator& operator++() {
    ++row_;
    return *this;
  }
  friend bool operator==(const TensorRowIterator& a, const TensorRowIterator& b) { return a.row_ == b.row_; }

 private:
  Tensor x_;
  int64_t row_;
};

}  // namespace nyala
