#pragma once

#include <string>
#include <utility>

#include <nyala/api/layers/base/weight_source.h>
#include <nyala/api/saving/weights/read_budget.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

/// While one lives on a thread, the weights of layers that are built there are taken to come from a file
/// right after: those whose first value Keras' initializers would draw at random stay zero (keys are drawn as
/// ever), and weights that the file cannot hold are refused before they take memory.
class WeightsFromFile final : public WeightSource {
 public:
  explicit WeightsFromFile(ReadBudget budget)
      : budget_(std::move(budget)), in_use_(detail::thread_context().weight_source, this) {}

  /// Throws FileFormatError.
  void allow(const std::string& name, const Shape& shape, DType dtype) override;
  void fill(const Initializer& initializer, const Tensor& weight) override;

 private:
  ReadBudget budget_;
  ScopedValue<WeightSource*> in_use_;
};

}  // namespace nyala
