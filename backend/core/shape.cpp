#include <nyala/backend/core/shape.h>

#include <algorithm>
#include <ostream>

#include <nyala/backend/core/error.h>

namespace nyala {

Shape::Shape(std::span<const int64_t> sizes) {
  if (sizes.size() > static_cast<size_t>(kMaxRank))
    throw ShapeError("a shape has at most " + std::to_string(kMaxRank) + " axes, received " +
                     std::to_string(sizes.size()));
  for (int64_t size : sizes) append(size);
}

std::ostream& Shape::write(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }

void Shape::append(int64_t size) {
  if (size < None) throw ShapeError("a size must be None or at least 0, received " + std::to_string(size));
  if (rank_ == kMaxRank) throw ShapeError("a shape has at most " + std::to_string(kMaxRank) + " axes");
  sizes_[static_cast<size_t>(rank_++)] = size;
}

int64_t Shape::num_elements() const {
  int64_t count = 1;
  for (int64_t size : *this) {
    if (size == None) throw ShapeError("shape " + to_string() + " has an unknown size, so no element count");
    if (__builtin_mul_overflow(count, size, &count))
      throw ShapeError("shape " + to_string() + " has more elements than int64 can count");
  }
  constexpr int64_t kMost = int64_t{1} << 58;  // their bytes can be counted, too
  if (count > kMost) throw ShapeError("shape " + to_string() + " has more elements than any memory holds");
  return count;
}

bool Shape::is_known() const { return std::find(begin(), end(), None) == end(); }

int Shape::normalize_axis(int axis) const {
  const int position = axis < 0 ? axis + rank_ : axis;
  if (position < 0 || position >= rank_)
    throw ShapeError("axis " + std::to_string(axis) + " does not exist in shape " + to_string());
  return position;
}

Shape Shape::slice(int first, int last) const {
  Shape out;
  for (int i = first; i < last; ++i) out.append((*this)[i]);
  return out;
}

Shape Shape::without(int axis) const {
  const int position = normalize_axis(axis);
  Shape out;
  for (int i = 0; i < rank_; ++i)
    if (i != position) out.append((*this)[i]);
  return out;
}

Shape Shape::with(int axis, int64_t size) const {
  Shape out = *this;
  out.set(axis, size);
  return out;
}

std::string Shape::to_string() const {
  std::string out = "(";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) out += ", ";
    const int64_t size = sizes_[static_cast<size_t>(i)];
    out += size == None ? "None" : std::to_string(size);
  }
  return out + (rank_ == 1 ? ",)" : ")");
}

Shape detail::broadcast(const Shape& a, const Shape& b, std::string_view where) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t x = ia < 0 ? 1 : a[ia], y = ib < 0 ? 1 : b[ib];
    if (x == y || y == 1)
      out.append(x);
    else if (x == 1)
      out.append(y);
    else if (x == None || y == None)
      out.append(x == None ? y : x);
    else
      throw ShapeError(std::string(where) + ": shapes " + a.to_string() + " and " + b.to_string() +
                       " do not broadcast (axis " + std::to_string(i - rank) + ": " + std::to_string(x) +
                       " and " + std::to_string(y) + ")");
  }
  return out;
}

bool detail::matches(const Shape& given, const Shape& wanted) {
  if (given.rank() != wanted.rank()) return false;
  for (int i = 0; i < given.rank(); ++i)
    if (given[i] != None && wanted[i] != None && given[i] != wanted[i]) return false;
  return true;
}

}  // namespace nyala
