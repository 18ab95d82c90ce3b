#pragma once

#include <map>
#include <string>

#include <nyala/api/base/fields.h>

namespace nyala {

/// The fields of a Config as make_tables.py writes those of Keras.
class SettingTexts final : public FieldVisitor {
 public:
  void field(const char* name, bool& value) override { texts_[name] = value ? "True" : "False"; }
  void field(const char* name, int64_t& value) override { texts_[name] = std::to_string(value); }
  void field(const char* name, double& value) override;
  void field(const char* name, std::string& value) override { texts_[name] = value.empty() ? "None" : value; }
  void field(const char* name, std::vector<int64_t>& value) override;
  void field(const char* name, std::vector<double>& value) override;
  void field(const char* name, ActivationArgument& value) override;
  void field(const char* name, Initializer& value) override;
  void field(const char*, Regularizer&) override {}
  void field(const char*, Constraint&) override {}
  void optional(const char* name, double& value) override;
  void optional(const char* name, int64_t& value, int64_t none) override;

  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::string> texts_;
};

}  // namespace nyala
