#pragma once

#include <memory>
#include <string>

#include <nyala/backend/core/held.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

class FieldVisitor;

/// A penalty on a weight, added to the loss once per step.
class RegularizerNode {
 public:
  virtual ~RegularizerNode() = default;
  virtual std::string class_name() const = 0;
  /// Shows the configuration; what the visitor writes is not kept.
  virtual void fields(FieldVisitor&) const {}
  /// The penalty as a scalar; differentiable.
  virtual Tensor penalty(const Tensor& weight) const = 0;
};

/// A handle on a regularizer: a name ("l1", "l2", "l1_l2") or an object; empty: none.
class Regularizer {
 public:
  Regularizer() = default;
  Regularizer(const char* name) : Regularizer(std::string(name)) {}
  Regularizer(const std::string& name);
  Regularizer(std::shared_ptr<const RegularizerNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  /// Throws StateError for an empty handle, as everything but `bool` does.
  const RegularizerNode& node() const {
    return detail::held(node_, "Regularizer", "give a name or an object");
  }
  Tensor operator()(const Tensor& weight) const { return node().penalty(weight); }

 private:
  std::shared_ptr<const RegularizerNode> node_;
};

}  // namespace nyala
