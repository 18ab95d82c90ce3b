#pragma once

#include <optional>

#include <nyala/datasets/base/arrays.h>
#include <nyala/datasets/base/dataset.h>

namespace nyala {

/// Data for fit, evaluate or predict: whole arrays, or a Dataset of batches.
class DataArgument {
 public:
  DataArgument() = default;
  DataArgument(const Arrays& arrays) : arrays_(Element{.x = {arrays.x}, .y = {arrays.y}}) {}
  DataArgument(Tensor x, Tensor y = {}, Tensor sample_weight = {});
  DataArgument(Tensors x, Tensors y, Tensor sample_weight = {})
      : arrays_(Element{.x = std::move(x), .y = std::move(y), .sample_weight = std::move(sample_weight)}) {}
  DataArgument(Dataset dataset) : dataset_(std::move(dataset)) {}

  explicit operator bool() const { return arrays_.has_value() || dataset_.has_value(); }
  bool is_dataset() const { return dataset_.has_value(); }
  const Dataset& dataset() const { return *dataset_; }
  const Element& arrays() const { return *arrays_; }
  Element& arrays() { return *arrays_; }
  /// Rows of the arrays. Throws InvalidArgumentError when x, y and weights have different numbers of rows.
  int64_t rows() const;

 private:
  std::optional<Element> arrays_;
  std::optional<Dataset> dataset_;
};

}  // namespace nyala
