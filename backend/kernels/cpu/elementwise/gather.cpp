#include <algorithm>
#include <limits>

#include <nyala/backend/kernels/cpu/elementwise/gather.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

/// The index at `position`, -1 where it is outside.
template <class I>
int64_t index_at(const I* indices, int64_t position, int64_t size) {
  int64_t index = static_cast<int64_t>(indices[position]);
  if (index < 0) index += size;
  return index < 0 || index >= size ? -1 : index;
}

const char* unsupported_indices(const KernelCall& call) {
  const DType dtype = call.input(1).dtype();
  return dtype == DType::int32 || dtype == DType::int64 ? nullptr : "indices of int32 or int64 only";
}

const char* unsupported_take(const KernelCall& call) {
  const DType dtype = call.output(0).dtype();
  if (dtype != DType::float32 && !is_half(dtype)) return "float32 and 16-bit floats only";
  return unsupported_indices(call);
}

const char* unsupported_take_backward(const KernelCall& call) {
  if (call.output(0).dtype() != DType::float32) return "float32 only";
  return unsupported_indices(call);
}

template <class Body>
void with_indices(const Tensor& indices, Body&& body) {
  if (indices.dtype() == DType::int32)
    body(indices.raw_as<int32_t>());
  else
    body(indices.raw_as<int64_t>());
}

/// `missing` stands where an index is bad.
template <class T>
void take_rows(const KernelCall& call, T missing) {
  const auto g = ops::detail::take_geometry(call.input(0).shape(), call.input(1).shape(),
                                            call.descriptor<ops::GatherDescriptor>().axis);
  const T* x = call.in<T>(0);
  T* y = call.out<T>(0);
  with_indices(call.input(1), [&](const auto* indices) {
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, g.inner));
    parallel_for(g.outer * g.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t position = row % g.count, index = index_at(indices, position, g.size);
        if (index >= 0) {
          std::copy_n(x + (row / g.count * g.size + index) * g.inner, g.inner, y + row * g.inner);
        } else {
          ops::detail::report_bad_index(call, position, g.size);
          std::fill_n(y + row * g.inner, g.inner, missing);
        }
      }
    });
  });
}

void run_take(const KernelCall& call) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const DType dtype = call.output(0).dtype();
  if (dtype == DType::float32) return take_rows(call, kNan);
  return dtype == DType::bfloat16 ? take_rows(call, bfloat16(kNan)) : take_rows(call, float16(kNan));
}

/// Each piece of work owns a range of the result's rows and reads all indices: no two write the same element,
/// and each element's sum is taken in the order of the indices.
void run_take_backward(const KernelCall& call) {
  const auto g = ops::detail::take_geometry(call.output(0).shape(), call.input(1).shape(),
                                            call.descriptor<ops::ScatterAddDescriptor>().axis);
  const float* dy = call.in<float>(0);
  float* dx = call.out<float>(0);
  const bool worth_it = g.outer * (g.size + g.count) * g.inner > kParallelGrain;
  const int64_t pieces = worth_it ? std::min<int64_t>(g.size, compute_threads()) : 1;
  with_indices(call.input(1), [&](const auto* indices) {
    parallel_for(g.outer * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t work = begin; work < end; ++work) {
        const int64_t outer = work / pieces, piece = work % pieces;
        const int64_t first = g.size * piece / pieces, last = g.size * (piece + 1) / pieces;
        float* rows = dx + outer * g.size * g.inner;
        std::fill(rows + first * g.inner, rows + last * g.inner, 0.0f);
        for (int64_t position = 0; position < g.count; ++position) {
          const int64_t index = index_at(indices, position, g.size);
          if (index < first || index >= last) continue;
          const float* from = dy + (outer * g.count + position) * g.inner;
          float* to = rows + index * g.inner;
          for (int64_t i = 0; i < g.inner; ++i) to[i] += from[i];
        }
      }
    });
  });
}

}  // namespace

void register_gather(KernelTable& table) {
  table.add(ops::kTake, DeviceKind::cpu,
            {.name = "rows", .unsupported_reason = unsupported_take, .run = run_take, .takes_half = true});
  table.add(ops::kTakeBackward, DeviceKind::cpu,
            {.name = "rows", .unsupported_reason = unsupported_take_backward, .run = run_take_backward});
}

}  // namespace nyala
