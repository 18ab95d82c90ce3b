#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <nyala/api/base/no_such_field.h>

namespace nyala {

class ActivationArgument;
class Initializer;
class Regularizer;
class Constraint;
class Layer;
class LearningRate;

/// Keras' None for a number.
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Visits the fields of a Config in the order of Keras' signature: one method per type of field. JSON,
/// printing, equality, default checks and summaries are visitors.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, int64_t& value) = 0;
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, std::string& value) = 0;
  virtual void field(const char* name, std::vector<int64_t>& value) = 0;
  virtual void field(const char* name, std::vector<double>& value) = 0;
  /// A list of texts, the empty one is Keras' None. By default not shown.
  virtual void field(const char*, std::vector<std::string>&) {}
  /// Numbers in nested lists: in row-major order, with the sizes of the lists. By default shown flat.
  virtual void nested(const char* name, std::vector<double>& values, std::vector<int64_t>&) {
    field(name, values);
  }
  virtual void field(const char* name, ActivationArgument& value) = 0;
  virtual void field(const char* name, Initializer& value) = 0;
  virtual void field(const char* name, Regularizer& value) = 0;
  virtual void field(const char* name, Constraint& value) = 0;
  /// By default a number is shown as one, a schedule not at all.
  virtual void field(const char* name, LearningRate& value);
  /// Layers that a layer wraps ("layer", "cells"): shown only to visitors that can follow them.
  virtual void field(const char*, Layer&) {}
  virtual void field(const char*, std::vector<Layer>&) {}
  /// A number that may be absent (Keras' None): NaN stands for None.
  virtual void optional(const char* name, double& value) = 0;
  /// An integer that may be absent: `none` stands for None.
  virtual void optional(const char* name, int64_t& value, int64_t none) = 0;
  /// Those that files have only where they are set. By default as above.
  virtual void when_set(const char* name, double& value) { optional(name, value); }
  virtual void when_set(const char* name, int64_t& value, int64_t none) { optional(name, value, none); }
  /// An option that Keras has not: files keep it beside the configuration, where Keras does not look. By
  /// default not shown.
  virtual void beside(const char*, bool&) {}
  /// A text that may be absent: the empty one stands for None. By default it is shown as it is.
  virtual void optional(const char* name, std::string& value) { field(name, value); }
};

}  // namespace nyala
