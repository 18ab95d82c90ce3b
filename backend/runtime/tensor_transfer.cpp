// The parts of Tensor that move bytes: they need allocators and streams, which core does not know.
#include <cstring>
#include <vector>

#include <nyala/backend/core/dtype_range.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/counters.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/traced_shape.h>

namespace nyala {

using namespace nyala::detail;

namespace {

void check_concrete(const Tensor& tensor, std::string_view what) {
  if (!tensor.defined()) throw_empty_tensor(what);
  if (tensor.is_abstract())
    throw StateError(std::string(what) + ": a symbolic tensor of shape " + tensor.shape().to_string() +
                     " has no values; it only describes a graph. What a layer decides by values it "
                     "computes: ops::where(condition, a, b)");
}

}  // namespace

void detail::check_traced(const Shape& shape, std::string_view what) {
  const RunningCall* const running = thread_context().running;
  if (running && running->layer && !running->is_step) return;
  throw ShapeError(std::string(what) + ": expected sizes of at least 0, received shape " + shape.to_string() +
                   "; an unknown size has a meaning only inside a layer's call() that is traced");
}

Tensor::Tensor(std::initializer_list<NestedValues> values) {
  std::vector<float> numbers;
  const Shape shape = NestedValues::flatten(values, numbers);
  *this = from(numbers, shape);
}

Tensor::Tensor(float value) : Tensor(scalar(value)) {}

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
  return view_of(allocator_of(device).allocate(bytes), 0, shape, dtype);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  if (!shape.is_known()) return check_traced(shape, "zeros"), abstract(shape, dtype, device);
  Tensor out = empty(shape, dtype, device);
  if (out.bytes() > 0) stream_of(device).fill_zero(out.raw(), out.bytes());
  return out;
}

Tensor Tensor::full(const Shape& shape, Number value, DType dtype, Device device) {
  check_holds(dtype, value, "full");
  if (!shape.is_known()) return check_traced(shape, "full"), abstract(shape, dtype, device);
  Tensor out = empty(shape, dtype, device);
  if (out.bytes() == 0) return out;
  dispatch_any(dtype, [&]<class T>(T) {
    const T filling = [&] {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        return T(value.as<float>());
      else
        return value.as<T>();
    }();
    const size_t count = static_cast<size_t>(out.num_elements());
    if (is_on_host(device)) {
      std::fill_n(out.raw_as<T>(), count, filling);
    } else if (count == 1) {
      stream_of(device).copy_from_host(out.raw(), &filling, out.bytes());
    } else {
      const std::unique_ptr<T[]> host(new T[count]);
      std::fill_n(host.get(), count, filling);
      stream_of(device).copy_from_host(out.raw(), host.get(), out.bytes());
    }
  });
  return out;
}

Tensor Tensor::ones(const Shape& shape, DType dtype, Device device) {
  if (!shape.is_known()) check_traced(shape, "ones");
  return full(shape, 1.0, dtype, device);
}

Tensor Tensor::from_bytes(const void* values, size_t count, const Shape& shape, DType dtype, Device device) {
  if (static_cast<int64_t>(count) != shape.num_elements())
    throw ShapeError("a tensor of shape " + shape.to_string() + " takes " +
                     std::to_string(shape.num_elements()) + " values, received " + std::to_string(count));
  Tensor out = empty(shape, dtype, device);
  out.copy_from_host(values);
  return out;
}

void Tensor::copy_from_host(const void* source) const {
  check_concrete(*this, "copy_from_host");
  if (bytes() > 0) stream_of(device_).copy_from_host(raw(), source, bytes());
  storage_->bump_version();
  Tape::note_write(*this);
}

void Tensor::copy_to_host(void* destination) const {
  check_concrete(*this, "copy_to_host");
  count_host_read();
  if (bytes() > 0) stream_of(device_).copy_to_host(destination, raw(), bytes());
}

void Tensor::copy_from(const Tensor& source) const {
  check_concrete(*this, "copy_from");
  check_concrete(source, "copy_from");
  if (source.shape_ != shape_ || source.dtype_ != dtype_)
    throw ShapeError("copy_from: expected " + shape_.to_string() + " of " + std::string(name_of(dtype_)) +
                     ", received " + source.shape_.to_string() + " of " +
                     std::string(name_of(source.dtype_)));
  if (bytes() == 0) return;
  if (source.device_ == device_) {
    stream_of(device_).copy(raw(), source.raw(), bytes());
  } else if (is_on_host(source.device_)) {
    stream_of(device_).copy_from_host(raw(), source.raw(), bytes());
  } else {
    stream_of(device_).copy_from_peer(raw(), source.raw(), bytes(), stream_of(source.device_));
  }
  storage_->bump_version();
  Tape::note_write(*this);
}

Tensor Tensor::clone() const {
  check_concrete(*this, "clone");
  Tensor out = empty(shape_, dtype_, device_);
  out.copy_from(*this);
  return out;
}

double Tensor::item() const {
  check_concrete(*this, "item");
  if (num_elements() != 1)
    throw ShapeError("item() reads a tensor with one element, this one has shape " + shape_.to_string());
  return dispatch_any(dtype_, [this]<class T>(T value) -> double {
    copy_to_host(&value);
    if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
      return static_cast<float>(value);
    else
      return static_cast<double>(value);
  });
}

}  // namespace nyala
