#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// One element of a Dataset: inputs, targets (none: empty) and sample weights (none: undefined), or weights of
/// each target's own. After Dataset::batch every tensor has the rows of the batch as its axis 0.
struct Element {
  Tensors x = {};
  Tensors y = {};
  Tensor sample_weight = {};
  Tensors weight_per_output = {};  // as many as y where there are any, some perhaps undefined
};

/// An element whose tensors have rows. The same type: batch() turns elements into such.
using Batch = Element;

/// Calls f(tensor) for every tensor of an element, in the order x, y, sample_weight,
/// weight_per_output.
template <class ElementType, class F>
void for_each_tensor(ElementType& element, F&& f) {
  for (auto& tensor : element.x) f(tensor);
  for (auto& tensor : element.y) f(tensor);
  if (element.sample_weight.defined()) f(element.sample_weight);
  for (auto& tensor : element.weight_per_output)
    if (tensor.defined()) f(tensor);
}

/// The number of rows that all tensors of `batch` have. Throws InvalidArgumentError naming `where` for an
/// element without tensors, ShapeError for scalars or tensors that differ in their rows.
int64_t num_rows(const Element& batch, std::string_view where);

/// Rows [first, first + count) of every tensor, sharing the bytes.
Element rows_of(const Element& batch, int64_t first, int64_t count);

}  // namespace nyala
