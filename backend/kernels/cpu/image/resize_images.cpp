// Every filter is separable, so two passes do: each row of the result is mixed from rows of the image into
// one row of the old width, which is still in the cache when its columns are mixed. That is taps_y + taps_x
// products for a value instead of taps_y * taps_x. The weights (ops/image/resize_axis.cpp) are made once per
// call. The gradient is the transposed map, columns first; there rows meet in sums, so that work is cut along
// them.
#include <nyala/backend/kernels/cpu/image/resize_images.h>

#include <algorithm>

#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

const char* unsupported_reason(const KernelCall& call) {
  return call.output(0).dtype() == DType::float32 ? nullptr : "float32 only";
}

/// Rows of the result over the columns of the images: what lies between the two passes.
int64_t middle_elements(const Shape& images, const Shape& result) {
  return images[0] * result[1] * images[2] * images[3];
}
size_t workspace(const KernelCall& call) {
  const Shape &in = call.input(0).shape(), &out = call.output(0).shape();
  const bool backward = call.op == &ops::kResizeImagesBackward;
  return static_cast<size_t>(backward ? middle_elements(out, in) : middle_elements(in, out)) * sizeof(float);
}

/// to += weight * from.
void add_scaled(const float* from, float weight, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] += weight * from[i];
}

void resize(const KernelCall& call) {
  const ops::ResizeGeometry g = ops::detail::resize_geometry(call);
  const ops::ResizeAxis &rows = g.rows, &columns = g.columns;
  const int64_t in_width = columns.input * g.channels, out_width = columns.output * g.channels;
  float* middle = call.workspace.raw_as<float>();
  const int64_t work = in_width * rows.taps + out_width * columns.taps;
  parallel_for(g.batch * rows.output, kParallelGrain / work + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / rows.output, y = row % rows.output;
      const float* from =
          call.in<float>(0) + (image * rows.input + rows.first[static_cast<size_t>(y)]) * in_width;
      const float* row_weights = rows.weights.data() + y * rows.taps;
      float* between = middle + row * in_width;
      std::fill_n(between, in_width, 0.0f);
      for (int64_t k = 0; k < rows.taps; ++k)
        if (row_weights[k] != 0.0f) add_scaled(from + k * in_width, row_weights[k], in_width, between);
      float* to = call.out<float>(0) + row * out_width;
      std::fill_n(to, out_width, 0.0f);
      for (int64_t x = 0; x < columns.output; ++x) {
        const float* weights = columns.weights.data() + x * columns.taps;
        const float* pixels = between + columns.first[static_cast<size_t>(x)] * g.channels;
        for (int64_t k = 0; k < columns.taps; ++k)
          if (weights[k] != 0.0f)
            add_scaled(pixels + k * g.channels, weights[k], g.channels, to + x * g.channels);
      }
    }
  });
}

void backward_columns(const KernelCall& call, const ops::ResizeGeometry& g, float* middle) {
  const ops::ResizeAxis& columns = g.columns;
  const int64_t in_width = columns.input * g.channels, out_width = columns.output * g.channels;
  parallel_for(g.batch * g.rows.output, kParallelGrain / (out_width * columns.taps) + 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const float* dy = call.in<float>(0) + row * out_width;
                   float* between = middle + row * in_width;
                   std::fill_n(between, in_width, 0.0f);
                   for (int64_t x = 0; x < columns.output; ++x)
                     for (int64_t k = 0; k < columns.taps; ++k)
                       add_scaled(dy + x * g.channels,
                                  columns.weights[static_cast<size_t>(x * columns.taps + k)], g.channels,
                                  between + (columns.first[static_cast<size_t>(x)] + k) * g.channels);
                 }
               });
}

void resize_backward(const KernelCall& call) {
  const ops::ResizeGeometry g = ops::detail::resize_geometry(call);
  const ops::ResizeAxis& rows = g.rows;
  float* middle = call.workspace.raw_as<float>();
  backward_columns(call, g, middle);
  // Rows of one image meet in their sums, so the work is cut along them.
  constexpr int64_t kRun = 2048;
  const int64_t width = g.columns.input * g.channels, runs = (width + kRun - 1) / kRun;
  parallel_for(g.batch * runs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t image = task / runs, first = task % runs * kRun, count = std::min(kRun, width - first);
      float* dx = call.out<float>(0) + image * rows.input * width + first;
      const float* from = middle + image * rows.output * width + first;
      for (int64_t y = 0; y < rows.input; ++y) std::fill_n(dx + y * width, count, 0.0f);
      for (int64_t y = 0; y < rows.output; ++y)
        for (int64_t k = 0; k < rows.taps; ++k)
          add_scaled(from + y * width, rows.weights[static_cast<size_t>(y * rows.taps + k)], count,
                     dx + (rows.first[static_cast<size_t>(y)] + k) * width);
    }
  });
}

}  // namespace

void register_resize_images(KernelTable& table) {
  table.add(ops::kResizeImages, DeviceKind::cpu, {"separable", unsupported_reason, workspace, resize});
  table.add(ops::kResizeImagesBackward, DeviceKind::cpu,
            {"separable", unsupported_reason, workspace, resize_backward});
}

}  // namespace nyala
