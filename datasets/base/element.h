#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nyala/backend/core/tensor.h>
#include <nyala/datasets/base/sample_weights.h>

namespace nyala {

/// One element of a Dataset: inputs, targets and sample weights, each perhaps none. `x[i]` is input i, `y[i]`
/// are the targets of output i and `sample_weight[i]` its weights, an empty tensor where it has none. After
/// Dataset::batch every tensor has the rows of the batch as its axis 0.
struct Element {
  Tensors x = {};
  Tensors y = {};
  SampleWeights sample_weight = {};
};

/// An element whose tensors have rows. The same type: batch() turns elements into such.
using Batch = Element;

namespace detail {

/// Calls f(tensor) for every tensor of an element, in the order x, y, sample_weight.
template <class ElementType, class F>
void for_each_tensor(ElementType& element, F&& f) {
  for (auto& tensor : element.x) f(tensor);
  for (auto& tensor : element.y) f(tensor);
  element.sample_weight.for_each(f);
}

/// The number of rows that all tensors of `batch` have. Throws InvalidArgumentError naming `where` for an
/// element without tensors, ShapeError for scalars or tensors that differ in their rows.
int64_t num_rows(const Element& batch, std::string_view where);

/// Rows [first, first + count) of every tensor, sharing the bytes.
Element rows_of(const Element& batch, int64_t first, int64_t count);

}  // namespace detail

}  // namespace nyala
