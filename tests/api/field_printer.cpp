#include <cmath>
#include <cstdio>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/constraints/constraint.h>
#include <nyala/api/initializers/initializer.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/regularizers/regularizer.h>
#include <nyala/tests/api/field_printer.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

template <class T>
std::string list_text(const std::vector<T>& values) {
  if (values.empty()) return "None";
  if (values.size() == 1) return text_of(values[0]);
  std::string text;
  for (const T& value : values) text += (text.empty() ? "(" : ", ") + text_of(value);
  return text + ")";
}

/// 'glorot_uniform', or None for an empty handle.
template <class Handle>
std::string name_text(const Handle& handle) {
  return handle ? "'" + snake_case(handle.node().class_name()) + "'" : "None";
}

}  // namespace

void FieldPrinter::field(const char* name, double& value) { add(name, text_of(value)); }
void FieldPrinter::field(const char* name, std::string& value) {
  add(name, value.empty() ? "None" : "'" + value + "'");
}
void FieldPrinter::field(const char* name, std::vector<int64_t>& value) { add(name, list_text(value)); }
void FieldPrinter::field(const char* name, std::vector<double>& value) { add(name, list_text(value)); }
void FieldPrinter::field(const char* name, std::vector<std::string>& value) {
  std::string text;
  for (const std::string& item : value) text += (text.empty() ? "('" : ", '") + item + "'";
  add(name, value.empty() ? "None" : text + ")");
}
void FieldPrinter::field(const char* name, ActivationArgument& value) {
  add(name, value.is_linear() ? "None" : "'" + value.name() + "'");
}
void FieldPrinter::field(const char* name, Initializer& value) { add(name, name_text(value)); }
void FieldPrinter::field(const char* name, Regularizer& value) { add(name, name_text(value)); }
void FieldPrinter::field(const char* name, Constraint& value) { add(name, name_text(value)); }
void FieldPrinter::optional(const char* name, double& value) {
  add(name, std::isnan(value) ? "None" : text_of(value));
}
void FieldPrinter::optional(const char* name, int64_t& value, int64_t none) {
  add(name, value == none ? "None" : text_of(value));
}

}  // namespace nyala
