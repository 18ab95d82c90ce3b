#pragma once

#include <memory>
#include <string>

#include <nyala/backend/core/held.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

class FieldVisitor;

/// A projection of a weight, applied after each optimizer step.
class ConstraintNode {
 public:
  virtual ~ConstraintNode() = default;
  virtual std::string class_name() const = 0;
  /// Shows the configuration; what the visitor writes is not kept.
  virtual void fields(FieldVisitor&) const {}
  virtual Tensor project(const Tensor& weight) const = 0;
};

/// A handle on a constraint: a name ("max_norm", "non_neg", "unit_norm", "min_max_norm") or an object; empty:
/// none.
class Constraint {
 public:
  Constraint() = default;
  Constraint(const char* name) : Constraint(std::string(name)) {}
  Constraint(const std::string& name);
  Constraint(std::shared_ptr<const ConstraintNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  /// Throws StateError for an empty handle, as everything but `bool` does.
  const ConstraintNode& node() const { return detail::held(node_, "Constraint", "give a name or an object"); }
  Tensor operator()(const Tensor& weight) const { return node().project(weight); }

 private:
  std::shared_ptr<const ConstraintNode> node_;
};

}  // namespace nyala
