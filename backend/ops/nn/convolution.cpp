// The definition as loops, for 2 and 3 axes and groups: for each pixel of y the taps that lie on x, for each
// tap a (channels, filters) product. An image is a volume of depth 1. As in Keras and TensorFlow it is a
// correlation (the kernel is not turned), channels last. Every faster kernel is tested against this.
#include <algorithm>

#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/conv2d.h>
#include <nyala/backend/ops/nn/conv3d.h>
#include <nyala/backend/ops/nn/convolution.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

/// Element offsets of one tap: a pixel of x, a pixel of y, a (channels, filters) matrix of the kernel.
struct Tap {
  int64_t x, y, kernel;
};

/// Position of tap `k` of window `o` on an axis.
struct TapAxis {
  int64_t size, stride, dilation, pad;
  /// -1 off x.
  int64_t at(int64_t o, int64_t k) const {
    const int64_t i = o * stride - pad + k * dilation;
    return i < size ? i : -1;
  }
};

/// Calls body(tap) for every tap of one pixel of y that lies on x.
template <class Body>
void for_each_tap_of(const ConvolutionGeometry& g, const std::array<int64_t, 4>& pixel, Body&& body) {
  const TapAxis z{g.depth, g.depth_stride, g.depth_dilation, g.pad_front};
  const TapAxis y{g.height, g.strides[0], g.dilation[0], g.pad_top};
  const TapAxis x{g.width, g.strides[1], g.dilation[1], g.pad_left};
  const auto [n, oz, oy, ox] = pixel;
  const int64_t out = (((n * g.out_depth + oz) * g.out_height + oy) * g.out_width + ox) * g.out_channels;
  for (int64_t kz = 0; kz < g.kernel_depth; ++kz) {
    const int64_t iz = z.at(oz, kz);
    if (iz < 0) continue;
    for (int64_t ky = 0; ky < g.kernel_height; ++ky) {
      const int64_t iy = y.at(oy, ky);
      if (iy < 0) continue;
      for (int64_t kx = 0; kx < g.kernel_width; ++kx) {
        const int64_t ix = x.at(ox, kx);
        if (ix < 0) continue;
        body(Tap{(((n * g.depth + iz) * g.height + iy) * g.width + ix) * g.channels, out,
                 ((kz * g.kernel_height + ky) * g.kernel_width + kx) * g.in_per_group * g.out_channels});
      }
    }
  }
}

template <class Body>
void for_each_tap(const ConvolutionGeometry& g, Body&& body) {
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t oz = 0; oz < g.out_depth; ++oz)
      for (int64_t oy = 0; oy < g.out_height; ++oy)
        for (int64_t ox = 0; ox < g.out_width; ++ox) for_each_tap_of(g, {n, oz, oy, ox}, body);
}

/// Calls body(ic, ik, o): channel of x, row of the kernel matrix, first of out_per_group filters.
template <class Body>
void for_each_channel(const ConvolutionGeometry& g, Body&& body) {
  for (int64_t group = 0; group < g.groups; ++group)
    for (int64_t i = 0; i < g.in_per_group; ++i) body(group * g.in_per_group + i, i, group * g.out_per_group);
}

template <size_t N>
ConvolutionGeometry geometry_of(const KernelCall& call, const OpDef& forward, const OpDef& backward_input) {
  if (call.op == &forward || call.op == &kConv2DOnto)
    return convolution_geometry(call.descriptor<ConvolutionDescriptor<N>>(), call.input(0).shape(),
                                call.input(1).shape());
  const auto& d = call.descriptor<ConvolutionBackwardDescriptor<N>>().conv;
  if (call.op == &backward_input)
    return convolution_geometry(d, call.output(0).shape(), call.input(1).shape());
  return convolution_geometry(d, call.input(0).shape(), call.output(0).shape());
}

bool is_volume(const KernelCall& call) { return call.input(0).rank() == 5; }

}  // namespace

template <size_t N>
ConvolutionGeometry detail::convolution_geometry(const ConvolutionDescriptor<N>& d, const Shape& x,
                                         const Shape& kernel) {
  constexpr int last = static_cast<int>(N) - 1;
  const auto window = [&](int axis) {
    const size_t i = static_cast<size_t>(axis);
    return WindowAxis{kernel[axis], d.strides[i], d.dilation[i]};
  };
  const auto out = [&](int axis) { return window_output_size(x[axis + 1], window(axis), d.padding, axis); };
  const auto pad = [&](int axis) {
    return d.padding.before(axis, x[axis + 1], window(axis).span(), window(axis).stride);
  };
  const WindowAxis rows = window(last - 1), columns = window(last);
  ConvolutionGeometry g{};
  g.batch = x[0], g.height = x[last], g.width = x[last + 1], g.channels = x[last + 2];
  g.kernel_height = rows.size, g.kernel_width = columns.size, g.in_per_group = kernel[last + 1];
  g.out_height = out(last - 1), g.out_width = out(last);
  g.out_channels = kernel[last + 2];
  g.groups = d.groups, g.out_per_group = g.out_channels / d.groups;
  g.strides = {rows.stride, columns.stride}, g.dilation = {rows.dilation, columns.dilation};
  g.pad_top = pad(last - 1), g.pad_left = pad(last);
  if constexpr (N == 3) {
    g.depth = x[1], g.kernel_depth = kernel[0], g.out_depth = out(0);
    g.depth_stride = d.strides[0], g.depth_dilation = d.dilation[0], g.pad_front = pad(0);
  }
  return g;
}

template ConvolutionGeometry detail::convolution_geometry(const ConvolutionDescriptor<2>&, const Shape&,
                                                  const Shape&);
template ConvolutionGeometry detail::convolution_geometry(const ConvolutionDescriptor<3>&, const Shape&,
                                                  const Shape&);

ConvolutionGeometry detail::convolution_geometry(const KernelCall& call) {
  return is_volume(call) ? geometry_of<3>(call, kConv3D, kConv3DBackwardInput)
                         : geometry_of<2>(call, kConv2D, kConv2DBackwardInput);
}

Activation detail::convolution_activation(const KernelCall& call) {
  return is_volume(call) ? call.descriptor<ConvolutionDescriptor<3>>().activation
                         : call.descriptor<ConvolutionDescriptor<2>>().activation;
}

void detail::convolution_reference(const KernelCall& call) {
  const ConvolutionGeometry g = convolution_geometry(call);
  const Activation activation = convolution_activation(call);
  dispatch_real(call.output(0).dtype(), call.op->name, [&]<class T>(T) {
    T* y = call.out<T>(0);
    const int64_t count = call.output(0).num_elements();
    for (int64_t i = 0; i < count; ++i)
      y[i] = (call.op == &kConv2DOnto ? y[i] : T(0)) +
             (call.inputs.size() > 2 ? call.in<T>(2)[i % g.out_channels] : T(0));
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

void detail::convolution_backward_input_reference(const KernelCall& call) {
  const ConvolutionGeometry g = convolution_geometry(call);
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

void detail::convolution_backward_kernel_reference(const KernelCall& call) {
  const ConvolutionGeometry g = convolution_geometry(call);
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

}  // namespace nyala::ops
