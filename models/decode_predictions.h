#pragma once

#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala::applications {

/// One guess: Keras' triple.
struct Prediction {
  std::string class_name;         // WordNet's, "n02123045"
  std::string class_description;  // "tabby"
  double score = 0.0;
};

/// The `top` likeliest of ImageNet's 1000 classes for each row, best first. Names come from Keras'
/// imagenet_class_index.json, which is looked for as pretrained files are. Throws ShapeError unless
/// `predictions` is (rows, 1000), InvalidArgumentError for a `top` below 1, IoError where the names are not
/// to be had.
std::vector<std::vector<Prediction>> decode_predictions(const Tensor& predictions, int top = 5);

}  // namespace nyala::applications
