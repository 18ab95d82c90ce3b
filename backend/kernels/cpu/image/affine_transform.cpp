// Backwards mapping: each pixel of the result asks where it comes from and mixes up to four neighbours; the
// rule is ops::AffineSampler (TensorFlow's ImageProjectiveTransformV3). Where a transform moves all rows
// alike (flips, shifts, zooms) the place of each column is found once per image and kept. Inside the image
// the taps need no checks; pixels at its edge go the long way. The gradient adds to up to four pixels, so
// that an image is one thread's.
#include <nyala/backend/kernels/cpu/image/affine_transform.h>

#include <algorithm>

#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/ops/image/affine_transform.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

namespace {

using ops::AffineSampler;
using ops::AffineTaps;
using ops::AxisTap;
using ops::AxisTaps;

constexpr int64_t kPieceRows = 16;

const char* unsupported_reason(const KernelCall& call) {
  return call.output(0).dtype() == DType::float32 ? nullptr : "float32 only";
}

/// A tap for each column of each image: many transforms move columns alike in every row.
size_t workspace(const KernelCall& call) {
  const Shape& result = call.output(0).shape();
  return static_cast<size_t>(result[0] * result[2]) * sizeof(AxisTap);
}

/// Writes the pixels of one image's result. kChannels: as many, or 0 for any number.
template <int64_t kChannels>
class Writer {
 public:
  Writer(const KernelCall& call, int64_t image)
      : sampler_(call, image),
        images_(AffineSampler::images_of(call)),
        from_(call.in<float>(0) + image * images_.height * images_.width * images_.channels),
        outside_(static_cast<float>(call.descriptor<ops::AffineTransformDescriptor>().fill_value)) {}

  const AffineSampler& sampler() const { return sampler_; }
  int64_t channels() const { return kChannels > 0 ? kChannels : images_.channels; }

  void write(const AxisTaps& at, float* to) const {
    const bool read = at.x.is_place && at.y.is_place;
    const bool in_row = read && at.x.first >= 0 && at.x.first + (at.x.next != 0.0f) < images_.width;
    if (!in_row || at.y.first < 0 || at.y.first + (at.y.next != 0.0f) >= images_.height)
      return write_edge(sampler_.taps(at), to);
    const float* top = from_ + (at.y.first * images_.width + at.x.first) * channels();
    if (at.x.next == 0.0f && at.y.next == 0.0f) {
      for (int64_t c = 0; c < channels(); ++c) to[c] = top[c];
      return;
    }
    const int64_t right = at.x.next != 0.0f ? channels() : 0;
    const float* bottom = at.y.next != 0.0f ? top + images_.width * channels() : top;
    for (int64_t c = 0; c < channels(); ++c) {
      const float above = (1.0f - at.x.next) * top[c] + at.x.next * top[c + right];
      const float below = (1.0f - at.x.next) * bottom[c] + at.x.next * bottom[c + right];
      to[c] = (1.0f - at.y.next) * above + at.y.next * below;
    }
  }

 private:
  void write_edge(const AffineTaps& taps, float* to) const {
    std::fill_n(to, channels(), taps.fill == 0.0f ? 0.0f : taps.fill * outside_);
    for (size_t i = 0; i < static_cast<size_t>(taps.count); ++i) {
      const float* from = from_ + taps.pixels[i] * channels();
      for (int64_t c = 0; c < channels(); ++c) to[c] += taps.weights[i] * from[c];
    }
  }

  AffineSampler sampler_;
  AffineSampler::Size images_;
  const float* from_;
  float outside_;
};

template <int64_t kChannels>
void write_row(const Writer<kChannels>& writer, int64_t y, const AxisTap* columns, std::span<float> to) {
  const int64_t channels = writer.channels(), width = static_cast<int64_t>(to.size()) / channels;
  if (!writer.sampler().is_separable()) {
    for (int64_t x = 0; x < width; ++x) writer.write(writer.sampler().axes(x, y), &to[0] + x * channels);
    return;
  }
  const AxisTap row = writer.sampler().axes(0, y).y;
  for (int64_t x = 0; x < width; ++x) writer.write({columns[x], row}, &to[0] + x * channels);
}

template <int64_t kChannels>
void affine_of(const KernelCall& call) {
  const auto result = AffineSampler::result_of(call);
  AxisTap* columns = call.workspace.raw_as<AxisTap>();
  parallel_for(result.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const AffineSampler sampler(call, image);
      for (int64_t x = 0; x < result.width && sampler.is_separable(); ++x)
        columns[image * result.width + x] = sampler.axes(x, 0).x;
    }
  });
  const auto row_size = static_cast<size_t>(result.width * result.channels);
  parallel_for(result.batch * result.height, kPieceRows, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / result.height;
      const Writer<kChannels> writer(call, image);
      write_row(writer, row % result.height, columns + image * result.width,
                std::span(call.out<float>(0) + static_cast<size_t>(row) * row_size, row_size));
    }
  });
}

void affine(const KernelCall& call) {
  switch (AffineSampler::images_of(call).channels) {
    case 1:
      return affine_of<1>(call);
    case 3:
      return affine_of<3>(call);
    default:
      return affine_of<0>(call);
  }
}

// Pixels of one image may meet in their sums, so each image is one piece of work.
void affine_backward(const KernelCall& call) {
  const auto images = AffineSampler::images_of(call), result = AffineSampler::result_of(call);
  const int64_t image_size = images.height * images.width * images.channels;
  parallel_for(images.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      const AffineSampler sampler(call, image);
      float* dx = call.out<float>(0) + image * image_size;
      std::fill_n(dx, image_size, 0.0f);
      const float* dy = call.in<float>(0) + image * result.height * result.width * result.channels;
      for (int64_t pixel = 0; pixel < result.height * result.width; ++pixel, dy += result.channels) {
        const AffineTaps taps = sampler.taps(pixel % result.width, pixel / result.width);
        for (size_t i = 0; i < static_cast<size_t>(taps.count); ++i)
          for (int64_t c = 0; c < images.channels; ++c)
            dx[taps.pixels[i] * images.channels + c] += taps.weights[i] * dy[c];
      }
    }
  });
}

}  // namespace

void register_affine_transform(KernelTable& table) {
  table.add(ops::kAffineTransform, DeviceKind::cpu, {"threads", unsupported_reason, workspace, affine});
  table.add(ops::kAffineTransformBackward, DeviceKind::cpu,
            {"threads", unsupported_reason, nullptr, affine_backward});
}

}  // namespace nyala
