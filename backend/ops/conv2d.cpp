#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/conv2d.h>
#include <nyala/backend/ops/dispatch.h>
#include <nyala/backend/ops/grad_context.h>

namespace nyala::ops {

namespace {

WindowAxis window_of(const Conv2DDescriptor& d, const Shape& kernel, int axis) {
  const size_t i = static_cast<size_t>(axis);
  return {kernel[axis], d.strides[i], d.dilation[i]};
}

void check_channels(InferContext& c, const Conv2DDescriptor& d, const Shape& x, const Shape& kernel) {
  const int64_t groups = d.groups;
  if (groups < 1 || kernel[3] % groups != 0)
    c.fail("expected groups to divide the " + std::to_string(kernel[3]) + " filters, received groups " +
           std::to_string(groups));
  if (x[3] != kernel[2] * groups)
    c.fail("expected " + std::to_string(kernel[2] * groups) + " channels for kernel " + kernel.to_string() +
           (groups > 1 ? " in " + std::to_string(groups) + " groups" : "") + "; received x " + x.to_string());
}

void infer_conv2d(InferContext& c) {
  const auto& d = c.descriptor<Conv2DDescriptor>();
  const Shape& x = c.shape(0);
  const Shape& kernel = c.shape(1);
  if (x.rank() != 4 || kernel.rank() != 4)
    c.fail(
        "expected x (batch, height, width, channels) and a kernel (rows, columns, channels, filters), "
        "received " +
        x.to_string() + " and " + kernel.to_string());
  for (size_t i = 0; i < c.num_inputs(); ++i)
    if (!is_floating(c.dtype(i)) || c.dtype(i) != c.dtype(0))
      c.fail("expected inputs of one floating dtype, received " + std::string(name_of(c.dtype(0))) + " and " +
             std::string(name_of(c.dtype(i))));
  check_channels(c, d, x, kernel);
  if (c.num_inputs() > 2 && c.shape(2) != Shape{kernel[3]})
    c.fail("expected a bias (" + std::to_string(kernel[3]) + ",), received " + c.shape(2).to_string());
  const int64_t height = window_output_size(x[1], window_of(d, kernel, 0), d.padding, 0);
  const int64_t width = window_output_size(x[2], window_of(d, kernel, 1), d.padding, 1);
  if (height == 0 || width == 0)
    c.fail("Computed output size would be zero or negative. Received: inputs " + x.to_string() + ", kernel " +
           kernel.to_string() + ", strides (" + std::to_string(d.strides[0]) + ", " +
           std::to_string(d.strides[1]) + "), dilation (" + std::to_string(d.dilation[0]) + ", " +
           std::to_string(d.dilation[1]) + ")");
  c.output(0, {x[0], height, width, kernel[3]}, c.dtype(0));
}

void infer_backward_input(InferContext& c) {
  const auto& d = c.descriptor<Conv2DBackwardDescriptor>();
  c.output(0, {c.shape(0)[0], d.sizes[0], d.sizes[1], c.shape(1)[2] * d.conv.groups}, c.dtype(0));
}

void infer_backward_kernel(InferContext& c) {
  const auto& d = c.descriptor<Conv2DBackwardDescriptor>();
  c.output(0, {d.sizes[0], d.sizes[1], c.shape(0)[3] / d.conv.groups, c.shape(1)[3]}, c.dtype(0));
}

/// Element offsets of one tap: a pixel of x, a pixel of y, a (channels, filters) matrix of the kernel.
struct Tap {
  int64_t x, y, kernel;
};

/// Calls body(tap) for every pixel of y and every kernel position that lies on x.
template <class Body>
void for_each_tap(const Conv2DGeometry& g, Body&& body) {
  const int64_t matrix = g.in_per_group * g.out_channels;
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t oy = 0; oy < g.out_height; ++oy)
      for (int64_t ox = 0; ox < g.out_width; ++ox)
        for (int64_t ky = 0; ky < g.kernel_height; ++ky) {
          const int64_t iy = oy * g.strides[0] - g.pad_top + ky * g.dilation[0];
          if (iy < 0 || iy >= g.height) continue;
          for (int64_t kx = 0; kx < g.kernel_width; ++kx) {
            const int64_t ix = ox * g.strides[1] - g.pad_left + kx * g.dilation[1];
            if (ix < 0 || ix >= g.width) continue;
            body(Tap{((n * g.height + iy) * g.width + ix) * g.channels,
                     ((n * g.out_height + oy) * g.out_width + ox) * g.out_channels,
                     (ky * g.kernel_width + kx) * matrix});
          }
        }
}

/// Calls body(ic, ik, o): channel of x, row of the kernel matrix, first of out_per_group filters.
template <class Body>
void for_each_channel(const Conv2DGeometry& g, Body&& body) {
  for (int64_t group = 0; group < g.groups; ++group)
    for (int64_t i = 0; i < g.in_per_group; ++i) body(group * g.in_per_group + i, i, group * g.out_per_group);
}

void conv2d_reference(const KernelCall& call) {
  const Conv2DGeometry g = conv2d_geometry(call);
  const Activation activation = call.descriptor<Conv2DDescriptor>().activation;
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* y = call.out<T>(0);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i)
      y[i] = call.inputs.size() > 2 ? call.in<T>(2)[i % g.out_channels] : T(0);
    for_each_tap(g, [&](const Tap& tap) {
      for_each_channel(g, [&](int64_t ic, int64_t ik, int64_t o) {
        const T value = call.in<T>(0)[tap.x + ic];
        const T* row = call.in<T>(1) + tap.kernel + ik * g.out_channels + o;
        for (int64_t j = 0; j < g.out_per_group; ++j) y[tap.y + o + j] += value * row[j];
      });
    });
    if (activation == Activation::linear) return;
    for (int64_t i = 0; i < count; ++i) y[i] = activate(y[i], activation);
  });
}

void backward_input_reference(const KernelCall& call) {
  const Conv2DGeometry g = conv2d_geometry(call);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* dx = call.out<T>(0);
    std::fill_n(dx, call.output(0).num_elements(), T(0));
    for_each_tap(g, [&](const Tap& tap) {
      for_each_channel(g, [&](int64_t ic, int64_t ik, int64_t o) {
        const T* dy = call.in<T>(0) + tap.y + o;
        const T* row = call.in<T>(1) + tap.kernel + ik * g.out_channels + o;
        T sum = 0;
        for (int64_t j = 0; j < g.out_per_group; ++j) sum += dy[j] * row[j];
        dx[tap.x + ic] += sum;
      });
    });
  });
}

void backward_kernel_reference(const KernelCall& call) {
  const Conv2DGeometry g = conv2d_geometry(call);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* gradient = call.out<T>(0);
    std::fill_n(gradient, call.output(0).num_elements(), T(0));
    for_each_tap(g, [&](const Tap& tap) {
      for_each_channel(g, [&](int64_t ic, int64_t ik, int64_t o) {
        const T value = call.in<T>(0)[tap.x + ic];
        const T* dy = call.in<T>(1) + tap.y + o;
        T* row = gradient + tap.kernel + ik * g.out_channels + o;
        for (int64_t j = 0; j < g.out_per_group; ++j) row[j] += value * dy[j];
      });
    });
  });
}

void conv2d_gradient(GradContext& c) {
  const auto& d = c.descriptor<Conv2DDescriptor>();
  const Shape& x = c.input(0).shape();
  const Shape& kernel = c.input(1).shape();
  const Tensor dz = behind_activation_and_bias(c, d.activation, 2);
  if (c.needs(1))
    c.emit(1, kConv2DBackwardKernel, Conv2DBackwardDescriptor{d, {kernel[0], kernel[1]}}, {&c.input(0), &dz});
  if (c.needs(0))
    c.emit(0, kConv2DBackwardInput, Conv2DBackwardDescriptor{d, {x[1], x[2]}}, {&dz, &c.input(1)});
}

void check_positive(const std::array<int, 2>& values, const char* what) {
  if (values[0] < 1 || values[1] < 1)
    throw InvalidArgumentError(std::string("conv2d: expected ") + what + " of at least 1, received (" +
                               std::to_string(values[0]) + ", " + std::to_string(values[1]) + ")");
}

}  // namespace

Conv2DGeometry conv2d_geometry(const Conv2DDescriptor& d, const Shape& x, const Shape& kernel) {
  const WindowAxis rows = window_of(d, kernel, 0), columns = window_of(d, kernel, 1);
  Conv2DGeometry g{};
  g.batch = x[0], g.height = x[1], g.width = x[2], g.channels = x[3];
  g.kernel_height = kernel[0], g.kernel_width = kernel[1], g.in_per_group = kernel[2];
  g.out_height = window_output_size(x[1], rows, d.padding, 0);
  g.out_width = window_output_size(x[2], columns, d.padding, 1);
  g.out_channels = kernel[3];
  g.groups = d.groups, g.out_per_group = kernel[3] / d.groups;
  g.strides = {rows.stride, columns.stride}, g.dilation = {rows.dilation, columns.dilation};
  g.pad_top = d.padding.before(0, x[1], rows.span(), rows.stride);
  g.pad_left = d.padding.before(1, x[2], columns.span(), columns.stride);
  return g;
}

Conv2DGeometry conv2d_geometry(const KernelCall& call) {
  if (call.op == &kConv2D)
    return conv2d_geometry(call.descriptor<Conv2DDescriptor>(), call.input(0).shape(), call.input(1).shape());
  const Conv2DDescriptor& d = call.descriptor<Conv2DBackwardDescriptor>().conv;
  if (call.op == &kConv2DBackwardInput)
    return conv2d_geometry(d, call.output(0).shape(), call.input(1).shape());
  return conv2d_geometry(d, call.input(0).shape(), call.output(0).shape());
}

const OpDef kConv2D = {.name = "conv2d",
                       .infer = infer_conv2d,
                       .gradient = conv2d_gradient,
                       .keep_inputs = keep(0, 1),
                       .keep_outputs = keep(0),
                       .reference = conv2d_reference};
const OpDef kConv2DBackwardInput = {
    .name = "conv2d_backward_input", .infer = infer_backward_input, .reference = backward_input_reference};
const OpDef kConv2DBackwardKernel = {
    .name = "conv2d_backward_kernel", .infer = infer_backward_kernel, .reference = backward_kernel_reference};

Tensor conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias, const Conv2DOptions& options) {
  check_positive(options.strides, "strides");
  check_positive(options.dilation, "a dilation");
  const Conv2DDescriptor descriptor{{options.strides[0], options.strides[1]},
                                    {options.dilation[0], options.dilation[1]},
                                    options.groups,
                                    options.padding,
                                    options.activation};
  return bias.defined() ? dispatch(kConv2D, descriptor, {&x, &kernel, &bias})
                        : dispatch(kConv2D, descriptor, {&x, &kernel});
}

}  // namespace nyala::ops
