#pragma once

#include <memory>
#include <string>

#include <nyala/backend/core/held.h>
#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

class FieldVisitor;

/// How a variable gets its first value. Derive to write one.
class InitializerNode {
 public:
  virtual ~InitializerNode() = default;
  /// Keras' class name, "GlorotUniform".
  virtual std::string class_name() const = 0;
  /// Shows the configuration; what the visitor writes is not kept.
  virtual void fields(FieldVisitor&) const {}
  /// Fills `value`, a host tensor of any floating dtype or integer; draws come from `random`.
  virtual void fill(const Tensor& value, DrawStream& random) const = 0;
  /// The seed given by the user, or a negative number: then the key comes from the global seed.
  virtual int64_t seed() const { return -1; }
};

/// A handle on an initializer: a name ("glorot_uniform", "GlorotUniform", "uniform") or an object.
class Initializer {
 public:
  Initializer() = default;
  /// Throws InvalidArgumentError for an unknown name, with the nearest one.
  Initializer(const char* name) : Initializer(std::string(name)) {}
  Initializer(const std::string& name);
  Initializer(std::shared_ptr<const InitializerNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  /// Throws StateError for an empty handle, as everything but `bool` does.
  const InitializerNode& node() const {
    return detail::held(node_, "Initializer", "give a name or an object");
  }
  /// Fills `value` (host memory). Unseeded initializers draw from the next unseeded key.
  void operator()(const Tensor& value) const;

 private:
  std::shared_ptr<const InitializerNode> node_;
};

}  // namespace nyala
