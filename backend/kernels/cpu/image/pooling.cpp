// Lanes are channels, rows of windows one loop. The gradient of a maximum finds the winner in x again; no
// tensor of places is kept. Windows that share no pixels write their gradients, others add to zeros; where
// windows cover x no zeros are written first. 16-bit floats are widened a few rows of windows at a time, and
// an image at a time for the gradients.
#include <algorithm>

#include <nyala/backend/kernels/cpu/base/cpu_level.h>
#include <nyala/backend/kernels/cpu/base/wide_runs.h>
#include <nyala/backend/kernels/cpu/image/pooling.h>
#include <nyala/backend/kernels/cpu/image/pooling_loops.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/nn/pooling.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using LoopsOf = const PoolingLoops& (*)();

const char* unsupported_reason(const KernelCall& call) {
  return is_narrow_float(call.input(0).dtype()) ? nullptr : "float32 and 16-bit floats only";
}

/// All images of a call; `x` is the shape of what is pooled.
struct Images {
  PoolingLoops::Shape shape;
  int64_t count, x_size, y_size;

  Images(const KernelCall& call, const Shape& x) {
    const ops::Pooling2DGeometry g =
        ops::detail::pooling2d_geometry(call.descriptor<ops::Pooling2DDescriptor>(), x);
    shape = {g.height,  g.width,      g.channels,   g.out_height, g.out_width, g.pool[0],
             g.pool[1], g.strides[0], g.strides[1], g.pad_top,    g.pad_left};
    count = g.batch;
    x_size = g.height * g.width * g.channels;
    y_size = g.out_height * g.out_width * g.channels;
  }
  /// Images that make a piece of work worth a thread.
  int64_t grain() const { return x_size >= kParallelGrain ? 1 : (kParallelGrain + x_size - 1) / x_size; }

  template <class Body>
  void for_each(Body&& body) const {
    parallel_for(count, grain(), [&](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n) body(n);
    });
  }
};

/// Image n of a tensor of images of `size` elements, in scratch memory where it is of 16-bit floats.
const float* image_of(const WideInput& x, int64_t n, int64_t size, int scratch) {
  return x.read(n * size, size, x.is_widened() ? wide_scratch(scratch, size) : nullptr);
}
float* place_of(const WideOutput& y, int64_t n, int64_t size, int scratch) {
  return y.place(n * size, y.is_narrowed() ? wide_scratch(scratch, size) : nullptr);
}

/// Rows of windows whose part of an image is widened together.
struct Band {
  PoolingLoops::Shape shape;  // of the part
  int64_t first_pixel_row;

  Band(const PoolingLoops::Shape& whole, int64_t first, int64_t rows) : shape(whole) {
    const int64_t begin = first * whole.stride_height - whole.pad_top;
    const int64_t end = begin + (rows - 1) * whole.stride_height + whole.pool_height;
    first_pixel_row = std::clamp<int64_t>(begin, 0, whole.height);
    shape.height = std::max<int64_t>(0, std::min(end, whole.height) - first_pixel_row);
    shape.pad_top = first_pixel_row - begin;
    shape.out_height = rows;
  }
  /// As many as stay in the second-level cache.
  static int64_t rows(const PoolingLoops::Shape& s) {
    constexpr int64_t kFloats = 32768;
    const int64_t pixel_rows = kFloats / (s.width * s.channels) - s.pool_height;
    return std::clamp<int64_t>(pixel_rows / s.stride_height + 1, 1, s.out_height);
  }
};

template <LoopsOf kLoops, PoolingLoops::Row PoolingLoops::*kRow>
void forward_half(const KernelCall& call, const Images& images) {
  const PoolingLoops::Shape& whole = images.shape;
  const WideInput x(call.input(0));
  const WideOutput y(call.output(0));
  const int64_t x_row = whole.width * whole.channels, y_row = whole.out_width * whole.channels,
                step = Band::rows(whole);
  images.for_each([&](int64_t n) {
    for (int64_t first = 0; first < whole.out_height; first += step) {
      const int64_t rows = std::min(step, whole.out_height - first);
      const Band band(whole, first, rows);
      const int64_t size = band.shape.height * x_row, to = n * images.y_size + first * y_row;
      const float* part =
          x.read(n * images.x_size + band.first_pixel_row * x_row, size, wide_scratch(0, size));
      float* place = y.place(to, wide_scratch(1, rows * y_row));
      for (int64_t oy = 0; oy < rows; ++oy) (kLoops().*kRow)(band.shape, part, oy, place + oy * y_row);
      y.write(to, rows * y_row, place);
    }
  });
}

template <LoopsOf kLoops, PoolingLoops::Row PoolingLoops::*kRow>
void forward(const KernelCall& call) {
  const Images images(call, call.input(0).shape());
  if (is_half(call.input(0).dtype())) return forward_half<kLoops, kRow>(call, images);
  images.for_each([&](int64_t n) {
    for (int64_t oy = 0; oy < images.shape.out_height; ++oy)
      (kLoops().*kRow)(
          images.shape, call.in<float>(0) + n * images.x_size, oy,
          call.out<float>(0) + n * images.y_size + oy * (images.y_size / images.shape.out_height));
  });
}

template <LoopsOf kLoops>
void max_backward(const KernelCall& call) {
  const Images images(call, call.input(1).shape());
  const WideInput dy(call.input(0)), x(call.input(1));
  const WideOutput dx(call.output(0));
  images.for_each([&](int64_t n) {
    float* place = place_of(dx, n, images.x_size, 2);
    kLoops().max_backward(images.shape, image_of(dy, n, images.y_size, 0), image_of(x, n, images.x_size, 1),
                          place);
    dx.write(n * images.x_size, images.x_size, place);
  });
}

template <LoopsOf kLoops>
void average_backward(const KernelCall& call) {
  const Images images(call, call.output(0).shape());
  const WideInput dy(call.input(0));
  const WideOutput dx(call.output(0));
  images.for_each([&](int64_t n) {
    float* place = place_of(dx, n, images.x_size, 2);
    kLoops().average_backward(images.shape, image_of(dy, n, images.y_size, 0), place);
    dx.write(n * images.x_size, images.x_size, place);
  });
}

template <LoopsOf kLoops>
void add(KernelTable& table, std::string_view name) {
  table.add(ops::kMaxPooling2D, DeviceKind::cpu,
            {name, unsupported_reason, nullptr, forward<kLoops, &PoolingLoops::max_row>, true});
  table.add(ops::kAveragePooling2D, DeviceKind::cpu,
            {name, unsupported_reason, nullptr, forward<kLoops, &PoolingLoops::average_row>, true});
  table.add(ops::kMaxPooling2DBackward, DeviceKind::cpu,
            {name, unsupported_reason, nullptr, max_backward<kLoops>, true});
  table.add(ops::kAveragePooling2DBackward, DeviceKind::cpu,
            {name, unsupported_reason, nullptr, average_backward<kLoops>, true});
}

}  // namespace

void register_pooling(KernelTable& table) {
  if (cpu_level() >= CpuLevel::avx512) add<pooling_loops_avx512>(table, "avx512");
  if (cpu_level() >= CpuLevel::avx2) add<pooling_loops_avx2>(table, "avx2");
}

}  // namespace nyala
