#pragma once

#include <string>

#include <nyala/api/initializers/initializer.h>
#include <nyala/api/saving/read_budget.h>

namespace nyala {

/// While one lives on a thread, the weights of layers that are built there are taken to come from a file
/// right after: those whose first value Keras' initializers would draw at random stay zero (keys are drawn as
/// ever), and weights that the file cannot hold are refused before they take memory.
class WeightsFromFile {
 public:
  explicit WeightsFromFile(ReadBudget budget);
  ~WeightsFromFile();
  WeightsFromFile(const WeightsFromFile&) = delete;
  WeightsFromFile& operator=(const WeightsFromFile&) = delete;

  /// Before a weight is made. Throws FileFormatError.
  static void allow(const std::string& name, const Shape& shape, DType dtype);
  /// Gives a new weight, which is zero, its first value.
  static void fill(const Initializer& initializer, const Tensor& weight);

 private:
  ReadBudget budget_;
  WeightsFromFile* outer_;
};

}  // namespace nyala
