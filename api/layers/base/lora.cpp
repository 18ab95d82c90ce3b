#include <nyala/api/layers/base/lora.h>

#include <cmath>

#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/parameters/parameter_store.h>

namespace nyala {

using namespace nyala::detail;

namespace {

Tensor product(const Tensor& a, const Tensor& b, const Shape& shape) {
  const Tensor flat = ops::matmul(a.rank() == 2 ? a : ops::reshape(a, {-1, a.shape().back()}), b);
  return a.rank() == 2 ? flat : ops::reshape(flat, shape);
}

/// A variable where `kernel` lies.
Variable factor_of(const Variable& kernel, const std::string& path, const std::string& name,
                   const Shape& shape, const Initializer& initializer) {
  const auto store = std::dynamic_pointer_cast<ParameterStore>(kernel.node().owner.lock());
  if (!store)
    throw StateError(
        "enable_lora: the kernel lies on parameter servers, or its strategy is gone; adapt the model "
        "before it is built there");
  VariableSpec spec;
  spec.name = name;
  spec.path = path + "/" + name;
  spec.shape = shape;
  spec.dtype = kernel.dtype();
  spec.synchronization = Synchronization::on_write;
  spec.aggregation = Aggregation::mean;
  spec.initialize = [&](const Tensor& value) { initializer(value); };
  Variable variable = store->create(spec);
  variable.node().spec.initialize = nullptr;
  return variable;
}

}  // namespace

void Lora::enable(LayerNode& node, const Variable& kernel, int64_t rank, const LoraConfig& config) {
  if (rank < 1)
    throw InvalidArgumentError("enable_lora: expected a rank of 1 or more, received " + std::to_string(rank));
  if (enabled()) throw StateError("enable_lora: this layer is adapted already");
  if (kernel.node().spec.constraint)
    throw InvalidArgumentError(
        "enable_lora: the kernel has a constraint, which nothing would keep; leave it out");
  const Shape& shape = kernel.shape();
  a_ = factor_of(kernel, node.path(), name_ + "_a", shape.with(-1, rank), config.a_initializer);
  b_ = factor_of(kernel, node.path(), name_ + "_b", {rank, shape.back()}, config.b_initializer);
  node.weights_.push_back(a_);
  node.weights_.push_back(b_);
  Variable(kernel).set_trainable(false);
  rank_ = rank;
  alpha_ = std::isnan(config.lora_alpha) ? static_cast<double>(rank) : config.lora_alpha;
}

Tensor Lora::scaled(const Tensor& x) const {
  const double scale = alpha_ / static_cast<double>(rank_);
  return scale == 1.0 ? x : x * scale;
}

Tensor Lora::adapted(Call& c, const Variable& kernel) const {
  const Tensor plain = c[kernel];
  return enabled() ? plain + scaled(product(c[a_], c[b_], plain.shape())) : plain;
}

Tensor Lora::merged(const Variable& kernel) const {
  const Tensor plain = kernel.value().detached();
  return enabled() ? plain + scaled(product(a_.value().detached(), b_.value().detached(), plain.shape()))
                   : plain;
}

void Layer::enable_lora(int64_t rank) const { enable_lora(rank, {}); }

void Layer::enable_lora(int64_t rank, const LoraConfig& config) const {
  auto* const adapted = dynamic_cast<HasLora*>(&node());
  const std::string who = "layer " + in_quotes(name()) + " (" + class_name() + "): ";
  if (!adapted)
    throw InvalidArgumentError(who + "enable_lora is for Dense, EinsumDense, Embedding and convolutions");
  if (!built()) throw StateError(who + "enable_lora: it is not built yet");
  try {
    adapted->enable_lora(rank, config);
  } catch (const Error&) {
    rethrow_with_prefix(who);
  }
}

}  // namespace nyala
