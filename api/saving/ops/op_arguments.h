#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nyala/api/saving/ops/op_config.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What one run of an operation of a file is made of. In the call's arguments {"input": i} stands for a
/// tensor of the graph, or one that the file holds. All throw FileFormatError naming the place.
class OpArguments {
 public:
  struct Bound {
    const OpConfig& op;
    const Tensors& inputs;
    const std::string& where;
  };
  explicit OpArguments(const Bound& bound) : b_(bound) {}

  // Arguments of the call, by position or name.
  bool has(const char* name, size_t position) const { return find(name, position) != nullptr; }
  bool is_tensor(const char* name, size_t position) const;
  Tensor tensor(const char* name, size_t position) const;
  /// A list of tensors.
  Tensors tensors(const char* name, size_t position) const;
  /// A number or a truth value.
  Number number(const char* name, size_t position) const;
  bool is_number(const char* name, size_t position) const;
  /// A tensor, or a number or list of numbers as a tensor that does not change the dtype of `like` unless it
  /// has to.
  Tensor operand(const char* name, size_t position, const Tensor& like) const;
  /// The call's argument itself.
  const Json& json(const char* name, size_t position) const;
  size_t count() const { return b_.op.args.size(); }

  // Arguments of the constructor, for which older files have arguments of the call behind its tensors.
  Json setting(const char* name) const;
  bool flag(const char* name) const;
  double real(const char* name, double otherwise) const;
  int64_t integer(const char* name, int64_t otherwise) const;
  /// The same, and an error for one that an int does not hold.
  int small_integer(const char* name, int otherwise) const;
  std::string text(const char* name, const std::string& otherwise) const;
  /// One number or a list; null: none. None stays None.
  std::vector<int64_t> integers(const char* name) const;
  /// The same, and an error for null in the list and for what an int does not hold: axes, repeats.
  std::vector<int> small_integers(const char* name) const;
  /// Throws unless the setting is absent, null or `value`.
  void expect_default(const char* name, const Json& value = {}) const;

  [[noreturn]] void fail(const std::string& name, const std::string& expected) const;

 private:
  const Json* find(const char* name, size_t position) const;
  bool holds_tensor(const Json& json) const;
  Tensor tensor_of(const Json& json, const std::string& name) const;
  int to_small(int64_t value, const char* name) const;

  Bound b_;
};

/// The integers of a file's value, null becomes None.
std::vector<int64_t> integers_of(const Json& json, const OpArguments& a, const char* name);

}  // namespace nyala
