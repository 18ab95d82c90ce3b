#pragma once

#include <string>

#include <nyala/api/saving/ops/op_row.h>

namespace nyala {

// What the rows of many ops have in common.

/// An op of one tensor and nothing else.
template <Tensor (*op)(const Tensor&)>
Tensors unary(const OpArguments& a) {
  return {op(a.tensor("x", 0))};
}

inline int axis_argument(const OpArguments& a, int otherwise) {
  return a.small_integer("axis", otherwise);
}

template <class Described>
void write_axis(const TracedOp& op, OpConfig& out) {
  out.config["axis"] = op.as<Described>().axis;
}

inline DType dtype_argument(const OpArguments& a, DType otherwise) {
  return a.setting("dtype").is_null() ? otherwise : parse_dtype(a.text("dtype", ""));
}

template <class Described>
void write_dtype(const TracedOp& op, OpConfig& out) {
  out.config["dtype"] = std::string(name_of(op.as<Described>().dtype));
}

/// A reduction over axes.
template <Tensor (*op)(const Tensor&, const Axes&, bool)>
Tensors reduction(const OpArguments& a) {
  a.expect_default("initial");
  a.expect_default("dtype");
  return {op(a.tensor("x", 0), a.small_integers("axis"), a.flag("keepdims"))};
}

void write_reduction(const TracedOp& op, OpConfig& out);

/// Functions of TensorFlow's, each with a second name if it has one: of one tensor, of two, and over axes.
constexpr LegacyFunction legacy_unary(const char* name, const char* other = nullptr) {
  return {{name, other}};
}
constexpr LegacyFunction legacy_binary(const char* name, const char* other = nullptr) {
  return {{name, other}, {"y"}};
}
constexpr LegacyFunction legacy_reduction(const char* name) {
  return {{name}, {}, {{"axis", "axis"}, {"keepdims", "keepdims"}}};
}

}  // namespace nyala
