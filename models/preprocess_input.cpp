#include <nyala/models/preprocess_input.h>

#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala::applications {

using namespace nyala::detail;

namespace {

Tensor channels(const std::vector<double>& values, const Tensor& like) {
  return ops::cast(Tensor::from(values), like.dtype()).to(like.device());
}

}  // namespace

Tensor preprocess_input(const Tensor& images, const std::string& mode) {
  const std::vector<std::string> modes = {"caffe", "tf", "torch", "none"};
  if (mode == "none") return images;
  if (mode != "caffe" && mode != "tf" && mode != "torch")
    throw InvalidArgumentError("preprocess_input: expected one of " + quoted_list(modes) + ", received " +
                               in_quotes(mode) + did_you_mean(mode, modes));
  const Tensor x = is_floating(images.dtype()) ? images : ops::cast(images, DType::float32);
  if (mode == "tf") return x / 127.5 - 1.0;
  if (x.rank() < 3 || x.shape().back() != 3)
    throw ShapeError("preprocess_input: expected images (..., height, width, 3), received shape " +
                     x.shape().to_string());
  if (mode == "torch")
    return (x / 255.0 - channels({0.485, 0.456, 0.406}, x)) / channels({0.229, 0.224, 0.225}, x);
  const Tensor bgr = ops::flip(x, {-1});
  return bgr - channels({103.939, 116.779, 123.68}, bgr);
}

}  // namespace nyala::applications
