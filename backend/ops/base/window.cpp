#include <algorithm>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/window.h>

namespace nyala::ops {

using namespace nyala::detail;

Padding::Padding(std::string_view name) {
  if (name == "valid") {
    mode_ = Mode::valid;
  } else if (name == "same") {
    mode_ = Mode::same;
  } else {
    throw InvalidArgumentError("padding: expected 'valid' or 'same', received " + in_quotes(name) +
                               did_you_mean(name, {"valid", "same"}));
  }
}

int64_t Padding::total_same(int64_t size, int64_t span, int64_t stride) const {
  const int64_t windows = (size + stride - 1) / stride;
  return std::max<int64_t>((windows - 1) * stride + span - size, 0);
}

int64_t Padding::before(int axis, int64_t size, int64_t span, int64_t stride) const {
  switch (mode_) {
    case Mode::same:
      return total_same(size, span, stride) / 2;
    case Mode::given:
      return sizes_[static_cast<size_t>(2 * axis)];
    case Mode::valid:
      break;
  }
  return 0;
}

int64_t Padding::after(int axis, int64_t size, int64_t span, int64_t stride) const {
  switch (mode_) {
    case Mode::same:
      return total_same(size, span, stride) - total_same(size, span, stride) / 2;
    case Mode::given:
      return sizes_[static_cast<size_t>(2 * axis + 1)];
    case Mode::valid:
      break;
  }
  return 0;
}

int64_t detail::window_output_size(int64_t input, const WindowAxis& window, const Padding& padding,
                                   int axis) {
  if (input == None) return None;
  const int64_t padded = input + padding.before(axis, input, window.span(), window.stride) +
                         padding.after(axis, input, window.span(), window.stride);
  return padded < window.span() ? 0 : (padded - window.span()) / window.stride + 1;
}

}  // namespace nyala::ops
