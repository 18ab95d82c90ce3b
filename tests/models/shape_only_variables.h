#pragma once

#include <memory>

#include <nyala/backend/parameters/variable.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

/// While one lives, variables that are made on its thread have a shape but no memory: enough to trace a model
/// of any size, not to run it.
class ShapeOnlyVariables final : public VariableCreator {
 public:
  ShapeOnlyVariables() : outer_(detail::thread_context().creator) { detail::thread_context().creator = this; }
  ~ShapeOnlyVariables() override { detail::thread_context().creator = outer_; }
  ShapeOnlyVariables(const ShapeOnlyVariables&) = delete;
  ShapeOnlyVariables& operator=(const ShapeOnlyVariables&) = delete;

  Variable create(const VariableSpec& spec) override {
    auto node = std::make_shared<VariableNode>();
    node->spec = spec;
    node->spec.initialize = nullptr;
    node->trainable = spec.trainable;
    node->copies = {Tensor::abstract(spec.shape, spec.dtype)};
    return Variable::of(std::move(node));
  }

 private:
  VariableCreator* outer_;
};

}  // namespace nyala
