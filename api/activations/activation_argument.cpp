#include <map>
#include <vector>

#include <nyala/api/activations/activation_argument.h>
#include <nyala/api/activations/activations.h>
#include <nyala/api/base/registry.h>
#include <nyala/backend/core/check_is_function.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Activation = Tensor (*)(const Tensor&);

/// Every activation: one line each.
const std::map<std::string, Activation>& table() {
  static const std::map<std::string, Activation>& activations = *new std::map<std::string, Activation>{
      {"celu", [](const Tensor& x) { return activations::celu(x); }},
      {"elu", [](const Tensor& x) { return activations::elu(x); }},
      {"exponential", activations::exponential},
      {"gelu", [](const Tensor& x) { return activations::gelu(x); }},
      {"glu", [](const Tensor& x) { return activations::glu(x); }},
      {"hard_shrink", [](const Tensor& x) { return activations::hard_shrink(x); }},
      {"hard_sigmoid", activations::hard_sigmoid},
      {"hard_silu", activations::hard_silu},
      {"hard_tanh", activations::hard_tanh},
      {"leaky_relu", [](const Tensor& x) { return activations::leaky_relu(x); }},
      {"legacy_hard_sigmoid", activations::legacy_hard_sigmoid},
      {"linear", activations::linear},
      {"log_sigmoid", activations::log_sigmoid},
      {"log_softmax", [](const Tensor& x) { return activations::log_softmax(x); }},
      {"mish", activations::mish},
      {"relu", [](const Tensor& x) { return activations::relu(x); }},
      {"relu6", activations::relu6},
      {"selu", activations::selu},
      {"sigmoid", activations::sigmoid},
      {"silu", activations::silu},
      {"soft_shrink", [](const Tensor& x) { return activations::soft_shrink(x); }},
      {"softmax", [](const Tensor& x) { return activations::softmax(x); }},
      {"softplus", activations::softplus},
      {"softsign", activations::softsign},
      {"sparse_plus", activations::sparse_plus},
      {"sparse_sigmoid", activations::sparse_sigmoid},
      {"sparsemax", [](const Tensor& x) { return activations::sparsemax(x); }},
      {"squareplus", [](const Tensor& x) { return activations::squareplus(x); }},
      {"tanh", activations::tanh},
      {"tanh_shrink", activations::tanh_shrink},
  };
  return activations;
}

/// The name that Keras writes to files.
std::string canonical_name(const std::string& name) {
  return name == "swish" ? "silu" : name == "hard_swish" ? "hard_silu" : name;
}

[[noreturn]] void throw_unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, function] : table()) names.push_back(known);
  throw InvalidArgumentError("unknown activation " + in_quotes(name) + did_you_mean(name, names) +
                             ": expected one of " + quoted_list(names));
}

}  // namespace

ActivationArgument::ActivationArgument(const std::string& name) : name_(canonical_name(name)) {
  if (table().contains(name_)) return;
  const CustomObject object = registered_object(name);
  const auto* const known = object.as<KnownActivation>();
  if (!known) throw_unknown(name);
  function_ = known->function;
}

Tensor ActivationArgument::operator()(const Tensor& x) const {
  if (function_) return function_(x);
  if (is_linear()) return x;
  const auto known = table().find(name_);
  if (known == table().end()) throw_empty_function("activation");
  return known->second(x);
}

ActivationArgument activations::get(const std::string& name) { return ActivationArgument(name); }

}  // namespace nyala
