// The reference: every window is cut to the part that lies on x, so padding is never looked at and an average
// is over the real pixels only, as TensorFlow's. The gradient of a maximum goes to the first largest pixel;
// it is found again in x, instead of keeping an index for each output. NaN is chosen only where there is
// nothing else.
#include <algorithm>
#include <limits>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/nn/pooling.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

WindowAxis window_of(const Pooling2DDescriptor& d, int axis) {
  const size_t i = static_cast<size_t>(axis);
  return {d.pool[i], d.strides[i], 1};
}

void infer_max_pooling(InferContext& c) {
  const auto& d = c.descriptor<Pooling2DDescriptor>();
  const Shape& x = c.shape(0);
  if (x.rank() != 4) c.fail("expected x (batch, height, width, channels), received " + x.to_string());
  const int64_t height = window_output_size(x[1], window_of(d, 0), d.padding, 0);
  const int64_t width = window_output_size(x[2], window_of(d, 1), d.padding, 1);
  if (height == 0 || width == 0 || x[1] == 0 || x[2] == 0)
    c.fail("Computed output size would be zero or negative. Received: inputs " + x.to_string() +
           ", pool size (" + std::to_string(d.pool[0]) + ", " + std::to_string(d.pool[1]) + ")");
  c.output(0, {x[0], height, width, x[3]}, c.dtype(0));
}

void infer_average_pooling(InferContext& c) {
  if (!is_floating(c.dtype(0)))
    c.fail("expected a floating dtype, received " + std::string(name_of(c.dtype(0))));
  infer_max_pooling(c);
}

void infer_max_backward(InferContext& c) { c.output(0, c.shape(1), c.dtype(1)); }

void infer_average_backward(InferContext& c) {
  const auto& sizes = c.descriptor<Pooling2DDescriptor>().input_sizes;
  c.output(0, {c.shape(0)[0], sizes[0], sizes[1], c.shape(0)[3]}, c.dtype(0));
}

/// The part of a window that lies on x.
struct Window {
  int64_t y;                         // element offset of its output pixel
  int64_t image;                     // pixel offset of its image in x
  int64_t top, bottom, left, right;  // [top, bottom) x [left, right)
  int64_t pixels() const { return (bottom - top) * (right - left); }
};

template <class Body>
void for_each_window(const Pooling2DGeometry& g, Body&& body) {
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t oy = 0; oy < g.out_height; ++oy)
      for (int64_t ox = 0; ox < g.out_width; ++ox) {
        const int64_t top = oy * g.strides[0] - g.pad_top, left = ox * g.strides[1] - g.pad_left;
        body(Window{((n * g.out_height + oy) * g.out_width + ox) * g.channels, n * g.height * g.width,
                    std::max<int64_t>(top, 0), std::min(top + g.pool[0], g.height),
                    std::max<int64_t>(left, 0), std::min(left + g.pool[1], g.width)});
      }
}

/// Calls body(offset) with the element offset in x of every pixel of a window.
template <class Body>
void for_each_pixel(const Pooling2DGeometry& g, const Window& w, Body&& body) {
  for (int64_t iy = w.top; iy < w.bottom; ++iy)
    for (int64_t ix = w.left; ix < w.right; ++ix) body((w.image + iy * g.width + ix) * g.channels);
}

/// Offset in x of the first largest number of channel `c`, or of the first pixel where all are NaN.
template <class T>
int64_t argmax(const Pooling2DGeometry& g, const Window& w, const T* x, int64_t c) {
  int64_t best = -1;
  for_each_pixel(g, w, [&](int64_t at) {
    if (best < 0 || x[at + c] > x[best] || (x[best] != x[best] && x[at + c] == x[at + c])) best = at + c;
  });
  return best;
}

void max_reference(const KernelCall& call) {
  const Pooling2DGeometry g =
      pooling2d_geometry(call.descriptor<Pooling2DDescriptor>(), call.input(0).shape());
  dispatch_arithmetic(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    const T* x = call.in<T>(0);
    for_each_window(g, [&](const Window& w) {
      for (int64_t c = 0; c < g.channels; ++c) call.out<T>(0)[w.y + c] = x[argmax(g, w, x, c)];
    });
  });
}

void max_backward_reference(const KernelCall& call) {
  const Pooling2DGeometry g =
      pooling2d_geometry(call.descriptor<Pooling2DDescriptor>(), call.input(1).shape());
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* dx = call.out<T>(0);
    std::fill_n(dx, call.output(0).num_elements(), T(0));
    for_each_window(g, [&](const Window& w) {
      for (int64_t c = 0; c < g.channels; ++c) dx[argmax(g, w, call.in<T>(1), c)] += call.in<T>(0)[w.y + c];
    });
  });
}

void average_reference(const KernelCall& call) {
  const Pooling2DGeometry g =
      pooling2d_geometry(call.descriptor<Pooling2DDescriptor>(), call.input(0).shape());
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    for_each_window(g, [&](const Window& w) {
      T* y = call.out<T>(0) + w.y;
      std::fill_n(y, g.channels, T(0));
      for_each_pixel(g, w, [&](int64_t at) {
        for (int64_t c = 0; c < g.channels; ++c) y[c] += call.in<T>(0)[at + c];
      });
      for (int64_t c = 0; c < g.channels; ++c) y[c] /= static_cast<T>(w.pixels());
    });
  });
}

void average_backward_reference(const KernelCall& call) {
  const Pooling2DGeometry g =
      pooling2d_geometry(call.descriptor<Pooling2DDescriptor>(), call.output(0).shape());
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* dx = call.out<T>(0);
    std::fill_n(dx, call.output(0).num_elements(), T(0));
    for_each_window(g, [&](const Window& w) {
      const T* dy = call.in<T>(0) + w.y;
      for_each_pixel(g, w, [&](int64_t at) {
        for (int64_t c = 0; c < g.channels; ++c) dx[at + c] += dy[c] / static_cast<T>(w.pixels());
      });
    });
  });
}

void max_gradient(GradContext& c) {
  if (!is_floating(c.input(0).dtype())) return;
  c.emit(0, kMaxPooling2DBackward, c.descriptor<Pooling2DDescriptor>(), {&c.grad(), &c.input(0)});
}

void average_gradient(GradContext& c) {
  Pooling2DDescriptor d = c.descriptor<Pooling2DDescriptor>();
  d.input_sizes = {c.input(0).shape()[1], c.input(0).shape()[2]};
  c.emit(0, kAveragePooling2DBackward, d, {&c.grad()});
}

/// Windows that lie wholly on padding have no value, so given padding must be smaller than the pool.
void check_options(const Pooling2DOptions& o, std::string_view name) {
  for (size_t i = 0; i < 2; ++i) {
    if (o.pool_size[i] < 1 || o.strides[i] < 0)
      throw InvalidArgumentError(std::string(name) +
                                 ": expected a pool size and strides of at least 1, received " +
                                 std::to_string(o.pool_size[i]) + " and " + std::to_string(o.strides[i]));
    const int axis = static_cast<int>(i);
    if (o.padding.mode() == Padding2D::Mode::given &&
        std::max(o.padding.before(axis, 0, 1, 1), o.padding.after(axis, 0, 1, 1)) >= o.pool_size[i])
      throw InvalidArgumentError(std::string(name) + ": expected padding smaller than the pool size " +
                                 std::to_string(o.pool_size[i]));
  }
}

Tensor pool(const OpDef& op, const Tensor& x, const Pooling2DOptions& options) {
  check_options(options, op.name);
  Pooling2DDescriptor d;
  for (size_t i = 0; i < 2; ++i) {
    d.pool[i] = options.pool_size[i];
    d.strides[i] = options.strides[i] == 0 ? options.pool_size[i] : options.strides[i];
  }
  d.padding = options.padding;
  return dispatch(op, d, {&x});
}

}  // namespace

Pooling2DGeometry detail::pooling2d_geometry(const Pooling2DDescriptor& d, const Shape& x) {
  const WindowAxis rows = window_of(d, 0), columns = window_of(d, 1);
  Pooling2DGeometry g{};
  g.batch = x[0], g.height = x[1], g.width = x[2], g.channels = x[3];
  g.out_height = window_output_size(x[1], rows, d.padding, 0);
  g.out_width = window_output_size(x[2], columns, d.padding, 1);
  g.pool = {rows.size, columns.size}, g.strides = {rows.stride, columns.stride};
  g.pad_top = d.padding.before(0, x[1], rows.size, rows.stride);
  g.pad_left = d.padding.before(1, x[2], columns.size, columns.stride);
  return g;
}

const OpDef kMaxPooling2D = {.name = "max_pooling2d",
                             .infer = infer_max_pooling,
                             .gradient = max_gradient,
                             .keep_inputs = keep(0),
                             .reference = max_reference};
const OpDef kAveragePooling2D = {.name = "average_pooling2d",
                                 .infer = infer_average_pooling,
                                 .gradient = average_gradient,
                                 .reference = average_reference};
const OpDef kMaxPooling2DBackward = {
    .name = "max_pooling2d_backward", .infer = infer_max_backward, .reference = max_backward_reference};
const OpDef kAveragePooling2DBackward = {.name = "average_pooling2d_backward",
                                         .infer = infer_average_backward,
                                         .reference = average_backward_reference};

Tensor max_pooling2d(const Tensor& x, const Pooling2DOptions& options) {
  return pool(kMaxPooling2D, x, options);
}
Tensor average_pooling2d(const Tensor& x, const Pooling2DOptions& options) {
  return pool(kAveragePooling2D, x, options);
}

}  // namespace nyala::ops
