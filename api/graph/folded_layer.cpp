// A BatchNormalization out of training is y * scale + offset per channel, and so a kernel times scale and
// another bias (Jacob et al. 2018, section 3.2): no pass over the values is left. The factors are computed in
// float64. The result is kept with the storage and version of every variable that it is made of, and made
// again when one of them differs: nobody has to tell it of a write. Frozen weights share an arena, and its
// version, with those that a step writes: in training the numbers of the variables' own writes are compared.
#include <nyala/api/graph/folded_layer.h>

#include <algorithm>

#include <nyala/api/layers/base/layer_autocast.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>

namespace nyala {

using namespace nyala::detail;

FoldedLayer::FoldedLayer(const Layer& layer)
    : layer_(layer), fusable_(layer.node().fusable()), variables_(fusable_->weights()) {
  kernel_ = variables_[0];
  if (variables_.size() > 1) bias_ = variables_[1];
}

FoldedLayer::FoldedLayer(const FoldedLayer& other)
    : layer_(other.layer_),
      normalization_(other.normalization_),
      fusable_(other.fusable_),
      map_(other.map_),
      parts_(other.parts_),
      kernel_(other.kernel_),
      bias_(other.bias_),
      variables_(other.variables_) {}

std::shared_ptr<FoldedLayer> FoldedLayer::of(const Layer& layer) {
  const Fusable* fusable = layer ? layer.node().fusable() : nullptr;
  if (!fusable || !layer.built() || fusable->weights().empty()) return nullptr;
  return std::shared_ptr<FoldedLayer>(new FoldedLayer(layer));
}

bool FoldedLayer::take(const FusedParts& parts) {
  if (!fusable_->takes(parts)) return false;
  parts_ = parts;
  return true;
}

bool FoldedLayer::absorb_padding(const Layer& before) {
  const Fusable* pads = before ? before.node().fusable() : nullptr;
  if (!pads || parts_.padding || before.node().compute_dtype() != layer_.node().compute_dtype()) return false;
  FusedParts parts = parts_;
  parts.padding = pads->does().padding;
  return parts.padding && take(parts);
}

bool FoldedLayer::absorb_normalization(const Layer& behind, ops::Activation activation, int rank) {
  const Fusable* map = behind ? behind.node().fusable() : nullptr;
  if (!map || map_ || parts_.sum || parts_.activation != ops::Activation::linear ||
      behind.node().compute_dtype() != layer_.node().compute_dtype() || !behind.built())
    return false;
  const Variables variables = map->map_variables(rank);
  FusedParts parts = parts_;
  parts.activation = activation;
  if (variables.empty() || (activation != ops::Activation::linear && !take(parts))) return false;
  normalization_ = behind;
  map_ = map;
  variables_.insert(variables_.end(), variables.begin(), variables.end());
  return true;
}

bool FoldedLayer::absorb_sum() {
  if (parts_.sum || parts_.activation != ops::Activation::linear) return false;
  FusedParts parts = parts_;
  parts.sum = true;
  return take(parts);
}

bool FoldedLayer::absorb_activation(const Layer& behind) {
  const Fusable* activation = behind ? behind.node().fusable() : nullptr;
  if (!activation || parts_.activation != ops::Activation::linear ||
      behind.node().compute_dtype() != layer_.node().compute_dtype())
    return false;
  FusedParts parts = parts_;
  parts.activation = activation->does().activation;
  return parts.activation != ops::Activation::linear && take(parts);
}

bool FoldedLayer::is_frozen(const Call& c) const {
  if (map_ && c.training() && normalization_.node().trainable()) return false;
  const std::vector<bool>* const trained = c.options().trained;
  return std::none_of(variables_.begin(), variables_.end(), [&](const Variable& variable) {
    const VariableNode& node = variable.node();
    const auto leaf = static_cast<size_t>(node.leaf);
    return trained ? leaf < trained->size() && (*trained)[leaf] : node.trainable;
  });
}

Tensor FoldedLayer::run(Call& c, const Tensor& x, Tensor sum) const {
  try {
    const LayerAutocast autocast(c, layer_.node());
    const DType dtype = layer_.node().compute_dtype();
    const bool cast = is_floating(x.dtype()) && x.dtype() != dtype;
    const Tensor y = compute(c, cast ? ops::cast(x, dtype) : x, std::move(sum));
    const Tensor mask = x.metadata() ? mask_of(x) : Tensor();
    return mask.defined() && layer_.node().supports_masking() ? with_mask(y, mask) : y;
  } catch (const Error&) {
    rethrow_with_prefix("layer " + in_quotes(layer_.name()) + " (" + layer_.class_name() + "): ");
  }
}

Tensor FoldedLayer::compute(Call& c, const Tensor& x, Tensor sum) const {
  if (parts_.sum && !sum.storage().unique()) sum = sum.clone();
  FusedCall fused{.parts = parts_, .sum = std::move(sum)};
  if (map_) {
    const std::shared_ptr<const Weights> folded = weights(c);
    fused.kernel = folded->kernel;
    fused.bias = folded->bias;
  } else {
    fused.kernel = c[kernel_];
    if (bias_) fused.bias = c[bias_];
  }
  return fusable_->call_fused(c, x, fused);
}

bool FoldedLayer::Source::is_unwritten(const Source& now, bool in_step) const {
  if (storage != now.storage || offset != now.offset) return false;
  return version == now.version ||
         (in_step && in_arena && written == now.written && last_write == now.last_write);
}

std::vector<FoldedLayer::Source> FoldedLayer::sources(const Call& c) const {
  std::vector<Source> sources;
  for (const Variable& variable : variables_) {
    const Tensor value = c[variable];
    const Storage& storage = *value.storage().get();
    sources.push_back({&storage, value.storage_offset(), storage.version(), variable.node().in_arena,
                       variable.node().written(), storage.last_write()});
  }
  return sources;
}

std::shared_ptr<const FoldedLayer::Weights> FoldedLayer::weights(Call& c) const {
  const AutocastScope whole(c, {});  // what is folded is rounded once, at its end
  const size_t replica = static_cast<size_t>(c.options().local_index);
  const std::vector<Source> now = sources(c);
  const bool in_step = c.training() || (c.tape() && c.tape()->recording);
  const auto is_unwritten = [&](const Source& then, const Source& source) {
    return then.is_unwritten(source, in_step);
  };
  {
    const std::lock_guard lock(mutex_);
    if (replica < of_replica_.size() && of_replica_[replica] &&
        std::ranges::equal(of_replica_[replica]->sources, now, is_unwritten))
      return of_replica_[replica];
  }
  auto folded = std::make_shared<Weights>(fold(c));
  folded->sources = now;
  const std::lock_guard lock(mutex_);
  if (replica >= of_replica_.size()) of_replica_.resize(replica + 1);
  of_replica_[replica] = folded;
  return folded;
}

FoldedLayer::Weights FoldedLayer::fold(Call& c) const {
  const ChannelMap map = map_->channel_map(c);
  const Tensor kernel = c[kernel_];
  Tensor bias = map.offset;
  if (bias_) bias = ops::cast(c[bias_], DType::float64) * map.scale + bias;
  const DType dtype = layer_.node().compute_dtype();
  const Tensor scaled = fusable_->scaled(kernel, ops::cast(map.scale, kernel.dtype()));
  // An offset of moving means cancels what the kernel sums up: it keeps its digits.
  return {{}, ops::cast(scaled, dtype), ops::cast(bias, dtype_of_sums(dtype))};
}

void FoldedLayer::release() const {
  const std::lock_guard lock(mutex_);
  of_replica_.clear();
}

}  // namespace nyala
