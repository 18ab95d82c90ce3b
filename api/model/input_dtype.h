#pragma once

#include <string>

#include <nyala/api/graph/graph_step.h>

namespace nyala::detail {

/// Whether it is a layer of ids, or a model that converts its data itself.
bool takes_whole_numbers(const LayerNode& layer);
/// Whether only such layers read this value of a graph.
bool keeps_whole_numbers(const GraphPlan& plan, int value);

/// An input of a model, as errors say it.
struct InputPlace {
  const std::string& model;
  size_t index = 0;
  const char* within = "";  // behind the place of a value: " of its batch"
};

/// Whole numbers that are wider than those of the Input `input` in its dtype, and floats, cut, where it takes
/// whole numbers; other data as it is. Throws InvalidArgumentError naming the first value that does not fit,
/// where Keras keeps its lower bits only; values that lie on a device are waited for.
Tensor with_narrowed_integers(const Tensor& x, const Tensor& input, const InputPlace& place);

/// `x` in the dtype of the Input `input`, as Keras converts data: floats for whole numbers are cut; but whole
/// numbers stay for a floating Input that keeps them. Throws as with_narrowed_integers().
Tensor in_input_dtype(const Tensor& x, const Tensor& input, bool keeps_whole_numbers,
                      const InputPlace& place);

}  // namespace nyala::detail
