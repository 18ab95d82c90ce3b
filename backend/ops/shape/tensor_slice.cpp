// Reading and writing what x[...] and x(...) name.
#include <algorithm>
#include <cstdlib>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/core/to_int.h>
#include <nyala/backend/ops/base/binary_op.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/strided_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Kind = Index::Kind;

void check_step(const Index& index) {
  if (index.kind() == Kind::range && index.step() == 0)
    throw InvalidArgumentError("slice: expected a step other than 0");
}

/// One entry per axis of a tensor of `rank` axes, and the new axes between them.
std::vector<Index> expanded(std::span<const Index> indices, const Shape& shape) {
  int given = 0, dots = 0;
  for (const Index& index : indices) {
    check_step(index);
    given += index.kind() == Kind::element || index.kind() == Kind::range;
    dots += index.kind() == Kind::ellipsis;
  }
  if (given > shape.rank() || dots > 1)
    throw ShapeError("index: expected at most " + std::to_string(shape.rank()) +
                     " entries and one ellipsis for shape " + shape.to_string() + ", received " +
                     std::to_string(given) + " entries and " + std::to_string(dots));
  const size_t left = static_cast<size_t>(shape.rank() - given);
  std::vector<Index> out;
  for (const Index& index : indices) {
    if (index.kind() == Kind::ellipsis)
      out.insert(out.end(), left, slice());
    else
      out.push_back(index);
  }
  if (dots == 0) out.insert(out.end(), left, slice());
  return out;
}

/// The element that `index` names on an axis; counted from the front where the size is known.
int64_t element_of(const Shape& shape, int axis, int64_t index) {
  const int64_t size = shape[axis];
  if (size == None) return index;
  if (index < -size || index >= size)
    throw ShapeError("index " + std::to_string(index) + " does not exist on axis " + std::to_string(axis) +
                     " of shape " + shape.to_string());
  return index < 0 ? index + size : index;
}

ops::AxisRange range_of(const Index& index) {
  return {index.start(), index.stop(), to_int(index.step(), "a slice's step")};
}

ops::AxisRange range_of_element(int64_t element) {
  if (element >= 0) return {element, element + 1, 0};
  return {element, element == -1 ? ops::kToEnd : element + 1, 1};
}

Tensor read(const Tensor& x, std::span<const Index> indices) {
  if (!x.defined()) throw_empty_tensor("index");
  std::vector<ops::AxisRange> ranges;
  std::vector<int> dropped, added;
  int axis = 0, position = 0;
  for (const Index& index : expanded(indices, x.shape())) {
    if (index.kind() == Kind::newaxis) {
      added.push_back(position++);
      continue;
    }
    if (index.kind() == Kind::element) {
      ranges.push_back(range_of_element(element_of(x.shape(), axis, index.start())));
      dropped.push_back(axis);
    } else {
      ranges.push_back(range_of(index));
      ++position;
    }
    ++axis;
  }
  Tensor out = ops::strided_slice(x, ranges);
  if (!dropped.empty()) out = ops::squeeze(out, dropped);
  return added.empty() ? out : ops::expand_dims(out, added);
}

SliceView whole(const Shape& shape) {
  SliceView view;
  view.sizes = shape;
  int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; stride *= shape[axis--])
    view.strides[static_cast<size_t>(axis)] = stride;
  return view;
}

/// `indices` of a view. Shapes with unknown sizes have no bytes to view.
SliceView viewed(const SliceView& view, std::span<const Index> indices) {
  SliceView out;
  if (!view.sizes.is_known()) return out;
  out.offset = view.offset;
  const auto add = [&](int64_t size, int64_t stride) {
    out.strides[static_cast<size_t>(out.sizes.rank())] = stride;
    out.sizes.append(size);
  };
  int axis = 0;
  for (const Index& index : expanded(indices, view.sizes)) {
    if (index.kind() == Kind::newaxis) {
      add(1, 0);
      continue;
    }
    const int64_t stride = view.strides[static_cast<size_t>(axis)];
    if (index.kind() == Kind::element) {
      out.offset += stride * element_of(view.sizes, axis, index.start());
    } else {
      const ops::ResolvedRange range = ops::detail::resolve(range_of(index), view.sizes[axis]);
      out.offset += stride * range.first;
      add(range.count, stride * range.step);
    }
    ++axis;
  }
  return out;
}

void check_writable(const Tensor& base, const Tensor& value) {
  if (base.is_one_of_copies())
    throw StateError(
        "assignment to a slice: the tensor is one of several copies of a variable, and the others would keep "
        "their values; write a new value by variable.assign(...), or clone() it for a tensor of your own");
  const auto refuse = [](const std::string& why) {
    throw StateError("assignment to a slice: " + why +
                     "; make a new tensor with ops::where, ops::concatenate or arithmetic instead");
  };
  if (!value.defined()) throw_empty_tensor("assignment to a slice");
  if (base.is_abstract() || value.is_abstract()) refuse("a symbolic tensor has no values to write");
  for (const Tensor* tensor : {&base, &value})
    if (tensor->tape() && tensor->tape()->recording)
      refuse("a gradient tape tracks " + std::string(tensor == &base ? "the tensor" : "the value") +
             " and would not see it");
}

/// The bytes of `base` from the first element of the view to the last.
Tensor spanned(const Tensor& base, const SliceView& view) {
  int64_t first = view.offset, count = view.sizes.num_elements() > 0 ? 1 : 0;
  for (int axis = 0; axis < view.sizes.rank() && count > 0; ++axis) {
    const int64_t reach = (view.sizes[axis] - 1) * view.strides[static_cast<size_t>(axis)];
    first += std::min<int64_t>(reach, 0);
    count += std::abs(reach);
  }
  return Tensor::view_of(base.storage(),
                         base.storage_offset() + static_cast<size_t>(first) * size_of(base.dtype()), {count},
                         base.dtype());
}

/// Writes `value`, of the dtype of `base`, into the host bytes of `base`.
void write_on_host(const Tensor& base, const SliceView& view, const Tensor& value) {
  const SliceView from = whole(value.shape());
  const int extra = view.sizes.rank() - value.rank();
  StridedCopy copy;
  copy.to_offset = view.offset;
  for (int axis = 0; axis < view.sizes.rank(); ++axis) {
    const bool repeats = axis < extra || value.shape()[axis - extra] == 1;
    copy.add_axis(view.sizes[axis], repeats ? 0 : from.strides[static_cast<size_t>(axis - extra)],
                  view.strides[static_cast<size_t>(axis)]);
  }
  if (copy.num_elements() > 0) copy_strided(copy, size_of(base.dtype()), value.raw(), base.raw());
}

}  // namespace

Slice::Slice(const Tensor& base, std::span<const Index> indices)
    : Tensor(read(base, indices)), base_(base), view_(viewed(whole(base.shape()), indices)) {}

Slice::Slice(const Slice& outer, std::span<const Index> indices, const SliceView& view)
    : Tensor(read(outer, indices)), base_(outer.base_), view_(viewed(view, indices)) {}

void Slice::assign(const Operand& given) const {
  const DType dtype = base_.dtype();
  const bool whole = !given.tensor() && !given.number().is_floating() && dtype != DType::bool_;
  if (whole && ops::detail::common_dtype(base_, given, ops::detail::SmallIntegers::keep) != dtype)
    throw DTypeError("assignment to a slice: a tensor of " + std::string(name_of(dtype)) + " does not hold " +
                     std::to_string(given.number().as<int64_t>()));
  Tensor made;
  const Tensor& value = given.tensor() ? *given.tensor() : ops::detail::in_dtype(given, dtype, base_, made);
  check_writable(base_, value);
  if (broadcast(value.shape(), view_.sizes, "assignment to a slice") != view_.sizes)
    throw ShapeError("assignment to a slice: expected a value that broadcasts to " + view_.sizes.to_string() +
                     ", received " + value.shape().to_string());
  Tensor source = ops::cast(value.detached(), dtype);
  if (source.storage().get() == base_.storage().get()) source = source.clone();
  if (is_on_host(base_.device())) {
    write_on_host(base_, view_, ops::seen_from(source, base_.device()));
    base_.storage()->bump_version();
    Tape::note_write(spanned(base_, view_));
  } else {
    const Tensor host = base_.detached().to(Device{});
    write_on_host(host, view_, source.to(Device{}));
    base_.copy_from(host);
  }
}

void Slice::update(std::string_view op, const Tensor& result) const {
  const auto rank = [](DType dtype) { return is_floating(dtype) ? 2 : dtype != DType::bool_; };
  if (rank(result.dtype()) > rank(dtype()))
    throw DTypeError("x[...] " + std::string(op) + " y: the result is " +
                     std::string(name_of(result.dtype())) + ", which a tensor of " +
                     std::string(name_of(dtype())) +
                     " would cut; write x = x.astype(...) first, or x[...] = y.astype(...)");
  assign(result);
}

void Slice::operator+=(const Operand& value) && { update("+=", *this + value); }
void Slice::operator-=(const Operand& value) && { update("-=", *this - value); }
void Slice::operator*=(const Operand& value) && { update("*=", *this * value); }
void Slice::operator/=(const Operand& value) && { update("/=", *this / value); }

namespace {

/// The places of `mask` that are true, in row-major order, as int64.
Tensor places_of(const Tensor& mask, Device device) {
  const std::vector<bool> values = mask.to_vector<bool>();
  std::vector<int64_t> places;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]) places.push_back(static_cast<int64_t>(i));
  return Tensor::from(places, Shape{static_cast<int64_t>(places.size())}, device);
}

}  // namespace

Tensor Tensor::entries_at(const Tensor& places) const {
  if (!defined_ || !places.defined_) throw_empty_tensor("index");
  if (is_floating(places.dtype_))
    throw DTypeError("index: expected a tensor of bool (a mask) or of integers, received " +
                     std::string(name_of(places.dtype_)));
  if (places.dtype_ != DType::bool_) return ops::take(*this, places, 0);
  if (places.is_abstract())
    throw StateError(
        "index: a symbolic mask has no values, and how many rows it leaves is not known; "
        "ops::where(mask, x, 0) keeps the shape");
  const int axes = places.rank();
  if (axes == 0 || axes > rank() || shape_.slice(0, axes) != places.shape_)
    throw ShapeError("index: expected a mask of the shape of the first axes of " + shape_.to_string() +
                     ", received " + places.shape_.to_string());
  Shape rows{places.num_elements()};
  for (int axis = axes; axis < rank(); ++axis) rows.append(shape_[axis]);
  return ops::take(ops::reshape(*this, rows), places_of(places, device_), 0);
}

void Tensor::read_element(std::span<const int64_t> index, DType wanted, void* value) const {
  if (!defined_) throw_empty_tensor("at");
  if (wanted != dtype_) throw_dtype_mismatch(dtype_, wanted);
  if (index.size() != static_cast<size_t>(rank()))
    throw ShapeError("at: expected an index for each axis of shape " + shape_.to_string() + ", received " +
                     std::to_string(index.size()));
  if (is_abstract())
    throw StateError("at: a symbolic tensor of shape " + shape_.to_string() + " has no values");
  int64_t place = 0;
  for (int axis = 0; axis < rank(); ++axis)
    place = place * shape_[axis] + element_of(shape_, axis, index[static_cast<size_t>(axis)]);
  view_of(storage_, offset_ + static_cast<size_t>(place) * size_of(dtype_), {}, dtype_).copy_to_host(value);
}

}  // namespace nyala
