#include <nyala/backend/core/tensor.h>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

Tensor Tensor::abstract(const Shape& shape, DType dtype, Device device) {
  Tensor out;
  out.shape_ = shape;
  out.dtype_ = dtype;
  out.device_ = device;
  out.defined_ = true;
  return out;
}

Tensor Tensor::view_of(StorageRef storage, size_t offset, const Shape& shape, DType dtype) {
  Tensor out = abstract(shape, dtype, storage->device());
  check_internal(offset + out.bytes() <= storage->bytes(), "a tensor view ends behind its storage");
  out.storage_ = std::move(storage);
  out.offset_ = offset;
  return out;
}

namespace {

/// Keeps foreign memory alive for Tensor::wrap.
class ForeignOwner : public StorageOwner {
 public:
  explicit ForeignOwner(std::shared_ptr<void> owner) : owner_(std::move(owner)) {}
  void reclaim(Storage* storage) noexcept override {
    delete storage;
    delete this;
  }

 private:
  std::shared_ptr<void> owner_;
};

}  // namespace

Tensor Tensor::wrap(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner) {
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
  auto keeper = std::make_unique<ForeignOwner>(std::move(owner));
  auto storage = std::make_unique<Storage>(data, bytes, Device{}, keeper.get());
  keeper.release();
  return view_of(StorageRef(storage.release()), 0, shape, dtype);
}

void* Tensor::host_data(DType wanted) const {
  if (!defined_) throw_empty_tensor("data");
  if (wanted != dtype_) throw_dtype_mismatch(dtype_, wanted);
  if (!storage_)
    throw StateError("an abstract tensor of shape " + shape_.to_string() + " has no values to read");
  if (!is_on_host(device_))
    throw StateError("data() reads host memory, but this tensor is on " + device_.to_string() +
                     "; use to_vector() or to(\"cpu:0\")");
  return raw();
}

Tensor Tensor::detached() const {
  Tensor out = *this;
  out.slot_ = nullptr;
  out.metadata_ = nullptr;
  return out;
}

Tensor Tensor::alias_on(Device device) const {
  if (!share_memory(device, device_))
    throw InvalidArgumentError("memory of " + device_.to_string() + " cannot be used as " +
                               device.to_string() + "; copy it with to(device)");
  Tensor out = detached();
  out.device_ = device;
  return out;
}

Tensor Tensor::with_shape(const Shape& shape) const {
  if (!defined_) throw_empty_tensor("with_shape");
  if (shape.num_elements() != num_elements())
    throw ShapeError("cannot view shape " + shape_.to_string() + " as " + shape.to_string());
  Tensor out = detached();
  out.shape_ = shape;
  return out;
}

Tensor Tensor::rows(int64_t first, int64_t count) const {
  if (!defined_) throw_empty_tensor("rows");
  const int64_t total = shape_[0];
  if (first < 0 || count < 0 || first + count > total)
    throw ShapeError("rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                     " do not exist in shape " + shape_.to_string());
  Tensor out = detached();
  out.shape_.set(0, count);
  if (total > 0) out.offset_ += bytes() / static_cast<size_t>(total) * static_cast<size_t>(first);
  return out;
}

void detail::throw_dtype_mismatch(DType held, DType wanted) {
  throw DTypeError("expected a tensor of " + std::string(name_of(wanted)) + ", received " +
                   std::string(name_of(held)) + "; ops::cast converts");
}

void detail::throw_empty_tensor(std::string_view where) {
  throw StateError(std::string(where) +
                   ": the tensor is empty; it was default-constructed and never assigned");
}

}  // namespace nyala
