#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nyala/api/base/fields.h>

namespace nyala {

/// Writes down the fields of a Config as Python prints Keras' defaults: "None", "True", "0.01", "'valid'",
/// "(1, 1)". A list of one number is printed as the number.
class FieldPrinter final : public FieldVisitor {
 public:
  void field(const char* name, bool& value) override { add(name, value ? "True" : "False"); }
  void field(const char* name, int64_t& value) override { add(name, std::to_string(value)); }
  void field(const char* name, double& value) override;
  void field(const char* name, std::string& value) override;
  void field(const char* name, std::vector<int64_t>& value) override;
  void field(const char* name, std::vector<double>& value) override;
  void field(const char* name, std::vector<std::string>& value) override;
  void field(const char* name, ActivationArgument& value) override;
  void field(const char* name, Initializer& value) override;
  void field(const char* name, Regularizer& value) override;
  void field(const char* name, Constraint& value) override;
  void optional(const char* name, double& value) override;
  void optional(const char* name, int64_t& value, int64_t none) override;

  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  void add(const char* name, std::string text) { fields_.emplace_back(name, std::move(text)); }
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace nyala
