#include <nyala/api/layers/base/config_fields.h>

#include <any>
#include <map>
#include <string>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

namespace {

/// Keeps the values of the fields that it sees first, and gives them to those of the same name and type that
/// it sees after give().
class FieldCopy final : public FieldVisitor {
 public:
  void give() { gives_ = true; }

  void field(const char* name, bool& value) override { pass(name, value); }
  void field(const char* name, int64_t& value) override { pass(name, value); }
  void field(const char* name, double& value) override { pass(name, value); }
  void field(const char* name, std::string& value) override { pass(name, value); }
  void field(const char* name, std::vector<int64_t>& value) override { pass(name, value); }
  void field(const char* name, std::vector<double>& value) override { pass(name, value); }
  void field(const char* name, std::vector<std::string>& value) override { pass(name, value); }
  void field(const char* name, ActivationArgument& value) override { pass(name, value); }
  void field(const char* name, Initializer& value) override { pass(name, value); }
  void field(const char* name, Regularizer& value) override { pass(name, value); }
  void field(const char* name, Constraint& value) override { pass(name, value); }
  void field(const char* name, LearningRate& value) override { pass(name, value); }
  void field(const char* name, Layer& value) override { pass(name, value); }
  void field(const char* name, std::vector<Layer>& value) override { pass(name, value); }
  void optional(const char* name, double& value) override { pass(name, value); }
  void optional(const char* name, int64_t& value, int64_t) override { pass(name, value); }
  void beside(const char* name, bool& value) override { pass(name, value); }

 private:
  template <class T>
  void pass(const char* name, T& value) {
    if (!gives_)
      values_[name] = value;
    else if (const auto found = values_.find(name); found != values_.end())
      if (const T* const given = std::any_cast<T>(&found->second)) value = *given;
  }

  std::map<std::string, std::any> values_;
  bool gives_ = false;
};

}  // namespace

void detail::copy_shown_fields(const ShowFields& from, const ShowFields& to) {
  FieldCopy copy;
  from(copy);
  copy.give();
  to(copy);
}

}  // namespace nyala
