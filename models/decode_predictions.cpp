#include <nyala/models/decode_predictions.h>

#include <algorithm>
#include <numeric>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/datasets/imagenet_classes.h>
#include <nyala/models/pretrained_file.h>

namespace nyala::applications {

namespace {

constexpr int64_t kClasses = 1000;

PretrainedFile class_index() {
  return {.name = "imagenet_class_index.json",
          .url = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json",
          .hash = "c2c37ea517e94d9795004a39431a14cb"};
}

}  // namespace

std::vector<std::vector<Prediction>> decode_predictions(const Tensor& predictions, int top) {
  if (predictions.rank() != 2 || predictions.shape()[1] != kClasses)
    throw ShapeError("decode_predictions: expected predictions (rows, 1000), received shape " +
                     predictions.shape().to_string());
  if (top < 1)
    throw InvalidArgumentError("decode_predictions: expected top above 0, received " + std::to_string(top));
  const auto classes = datasets::read_imagenet_classes(find_pretrained(class_index()));
  const std::vector<double> scores = ops::cast(predictions.detached(), DType::float64).to_vector<double>();
  const auto count = std::min<int64_t>(top, kClasses);
  std::vector<std::vector<Prediction>> out;
  for (int64_t row = 0; row < predictions.shape()[0]; ++row) {
    const double* of_row = scores.data() + row * kClasses;
    std::vector<size_t> order(kClasses);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return of_row[a] > of_row[b]; });
    std::vector<Prediction>& guesses = out.emplace_back();
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      guesses.push_back({classes[order[i]].id, classes[order[i]].name, of_row[order[i]]});
  }
  return out;
}

}  // namespace nyala::applications
