#include <nyala/backend/ops/shape/scatter_into.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>

namespace nyala::ops {

using namespace nyala::detail;

namespace {

void infer_scatter_into(InferContext& c) {
  const DType dtype = c.dtype(0);
  if (dtype != DType::int32 && dtype != DType::int64 && dtype != DType::uint8)
    c.fail("expected indices of int32, int64 or uint8, received " + std::string(name_of(dtype)));
  if (c.shape(0).rank() != 1 || c.shape(1).rank() < 1 || c.shape(1)[0] != c.shape(0)[0])
    c.fail("expected indices (n,) and values (n, ...), received " + c.shape(0).to_string() + " and " +
           c.shape(1).to_string());
  c.output(0, c.shape(1).with(0, c.descriptor<ScatterIntoDescriptor>().rows), c.dtype(1));
}

/// The smallest integer divided by -1 has no result in its type; this one wraps around.
template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    if (b == T(-1)) return static_cast<T>(Bits(0) - static_cast<Bits>(a));
  }
  return static_cast<T>(a / b);
}

template <class T>
T combine(ScatterKind kind, T a, T b) {
  switch (kind) {
    case ScatterKind::add:
      return static_cast<T>(a + b);
    case ScatterKind::subtract:
      return static_cast<T>(a - b);
    case ScatterKind::multiply:
      return static_cast<T>(a * b);
    case ScatterKind::divide:
      return quotient(a, b);
    case ScatterKind::minimum:
      return std::min(a, b);
    case ScatterKind::maximum:
      return std::max(a, b);
    case ScatterKind::update:
      return b;
  }
  return b;
}

template <class I>
void check_indices(const KernelCall& call, const I* indices, int64_t count, int64_t rows) {
  for (int64_t i = 0; i < count; ++i)
    if (static_cast<int64_t>(indices[i]) < 0 || static_cast<int64_t>(indices[i]) >= rows)
      throw NumericError(std::string(call.op->name) + ": index " + std::to_string(indices[i]) + " in row " +
                         std::to_string(i) + " is outside [0, " + std::to_string(rows) + ")");
}

template <class T>
void check_divisors(const KernelCall& call, ScatterKind kind) {
  if constexpr (std::is_integral_v<T>) {
    if (kind != ScatterKind::divide) return;
    const T* values = call.in<T>(1);
    if (std::find(values, values + call.input(1).num_elements(), T(0)) !=
        values + call.input(1).num_elements())
      throw NumericError(std::string(call.op->name) + ": an integer is divided by zero");
  }
}

template <class T, class I>
void scatter_rows(const KernelCall& call) {
  const auto& d = call.descriptor<ScatterIntoDescriptor>();
  const int64_t count = call.input(0).num_elements();
  const int64_t inner = count == 0 ? 0 : call.input(1).num_elements() / count;
  const I* indices = call.in<I>(0);
  check_indices(call, indices, count, d.rows);
  check_divisors<T>(call, d.kind);
  for (int64_t i = 0; i < count; ++i) {
    const T* from = call.in<T>(1) + i * inner;
    T* to = call.out<T>(0) + static_cast<int64_t>(indices[i]) * inner;
    for (int64_t k = 0; k < inner; ++k) to[k] = combine(d.kind, to[k], from[k]);
  }
}

void scatter_into_reference(const KernelCall& call) {
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    dispatch_arithmetic(call.input(0).dtype(), call.op->name, [&]<class I>(I) {
      if constexpr (std::is_integral_v<I>) scatter_rows<T, I>(call);
    });
  });
}

}  // namespace

const OpDef kScatterInto = {
    .name = "scatter_into", .infer = infer_scatter_into, .reference = scatter_into_reference};

void detail::scatter_into(const Tensor& y, ScatterKind kind, const Tensor& indices, const Tensor& values) {
  const Tensor plain_indices = indices.detached(), plain_values = values.detached();
  dispatch_into(kScatterInto, ScatterIntoDescriptor{kind, y.shape()[0]}, {&plain_indices, &plain_values},
                y.detached());
  Tape::note_write(y);
}

}  // namespace nyala::ops
