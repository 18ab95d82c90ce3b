#include <nyala/api/utils/gradient_tape.h>

#include <map>

#include <nyala/backend/autograd/backward.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>

namespace nyala {

namespace {

/// Leaf keys of watched tensors begin here, above those that stores give to variables.
constexpr int32_t kFirstTensorLeaf = 1 << 20;

class Collector final : public GradientSink {
 public:
  Tensor destination(int32_t) override { return {}; }
  void ready(int32_t leaf, const Tensor& gradient) override { gradients[leaf] = gradient; }
  std::map<int32_t, Tensor> gradients;
};

}  // namespace

GradientTape::GradientTape() : recording_(thread_context().tape, &tape_) {}

Tensor GradientTape::watch(const Tensor& tensor) {
  if (!is_floating(tensor.dtype()))
    throw InvalidArgumentError("GradientTape: only floating tensors have gradients, received " +
                               std::string(name_of(tensor.dtype())));
  watched_.push_back(tensor);
  return tape_.watch(tensor, kFirstTensorLeaf + static_cast<int32_t>(watched_.size()) - 1);
}

void GradientTape::stop() { tape_.recording = false; }

Tensors GradientTape::gradients_by_leaf(const Tensor& target, const std::vector<int32_t>& leaves,
                                        const Tensors& shells) {
  Collector collector;
  backward_keep(tape_, target, collector);
  Tensors out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto found = collector.gradients.find(leaves[i]);
    out.push_back(found != collector.gradients.end() ? found->second : ops::zeros_like(shells[i]));
  }
  return out;
}

Tensors GradientTape::gradient(const Tensor& target, const Variables& sources) {
  std::vector<int32_t> leaves;
  Tensors values;
  for (const Variable& variable : sources) {
    leaves.push_back(variable.node().leaf);
    values.push_back(variable.value());
  }
  return gradients_by_leaf(target, leaves, values);
}

Tensors GradientTape::gradient(const Tensor& target, const Tensors& sources) {
  std::vector<int32_t> leaves;
  for (const Tensor& source : sources) {
    if (source.tape() != &tape_)
      throw StateError(
          "GradientTape: a source is not tracked by this tape; use the tensor that watch() returned");
    leaves.push_back(tape_.values()[source.value_id()].leaf);
    if (leaves.back() < 0)
      throw InvalidArgumentError("GradientTape: a source is the result of an op; watch() it first");
  }
  return gradients_by_leaf(target, leaves, sources);
}

}  // namespace nyala
