#include <nyala/api/model/folded_layer.h>

#include <nyala/api/layers/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/arithmetic.h>
#include <nyala/backend/ops/cast.h>

namespace nyala {

using namespace nyala::detail;

FoldedLayer::FoldedLayer(const Layer& layer)
    : layer_(layer), foldable_(dynamic_cast<const FoldableLayer*>(&layer.node())) {
  variables_.push_back(foldable_->kernel());
  if (foldable_->bias()) variables_.push_back(foldable_->bias());
}

FoldedLayer::FoldedLayer(const FoldedLayer& other)
    : layer_(other.layer_),
      normalization_(other.normalization_),
      foldable_(other.foldable_),
      map_(other.map_),
      variables_(other.variables_),
      activation_(other.activation_),
      padding_(other.padding_),
      adds_(other.adds_) {}

std::shared_ptr<FoldedLayer> FoldedLayer::of(const Layer& layer) {
  const auto* foldable = layer ? dynamic_cast<const FoldableLayer*>(&layer.node()) : nullptr;
  if (!foldable || !layer.built() || !foldable->is_affine()) return nullptr;
  return std::shared_ptr<FoldedLayer>(new FoldedLayer(layer));
}

bool FoldedLayer::absorb_padding(const Layer& before) {
  const auto* pads = before ? dynamic_cast<const PadsWithZeros*>(&before.node()) : nullptr;
  if (!pads || padding_ || !foldable_->takes_padding() || before.node().dtype() != layer_.node().dtype())
    return false;
  padding_ = pads->zero_padding();
  return padding_.has_value();
}

bool FoldedLayer::absorb_normalization(const Layer& behind, ops::Activation activation, int rank) {
  const auto* map = behind ? dynamic_cast<const MapsChannels*>(&behind.node()) : nullptr;
  if (!map || map_ || adds_ || activation_ != ops::Activation::linear || !map->maps_last_axis(rank) ||
      behind.node().dtype() != layer_.node().dtype() || !behind.built())
    return false;
  if (activation != ops::Activation::linear && !foldable_->takes_activation()) return false;
  normalization_ = behind;
  map_ = map;
  activation_ = activation;
  for (const Variable& variable : map->map_variables()) variables_.push_back(variable);
  return true;
}

bool FoldedLayer::absorb_sum() {
  if (adds_ || activation_ != ops::Activation::linear || !foldable_->takes_sum()) return false;
  adds_ = true;
  return true;
}

bool FoldedLayer::absorb_activation(const Layer& behind) {
  if (!behind || activation_ != ops::Activation::linear || !foldable_->takes_activation() ||
      behind.node().dtype() != layer_.node().dtype())
    return false;
  activation_ = behind.node().as_activation();
  return activation_ != ops::Activation::linear;
}

Tensor FoldedLayer::run(Call& c, const Tensor& x, Tensor sum) const {
  try {
    const DType dtype = layer_.node().dtype();
    const bool cast = is_floating(x.dtype()) && x.dtype() != dtype;
    const Tensor y = compute(c, cast ? ops::cast(x, dtype) : x, std::move(sum));
    const Tensor mask = x.notes() ? mask_of(x) : Tensor();
    return mask.defined() && layer_.node().supports_masking() ? with_mask(y, mask) : y;
  } catch (const Error&) {
    rethrow_with_prefix("layer " + in_quotes(layer_.name()) + " (" + layer_.class_name() + "): ");
  }
}

Tensor FoldedLayer::compute(Call& c, const Tensor& x, Tensor sum) const {
  const ops::Padding* padding = padding_ ? &*padding_ : nullptr;
  if (adds_ && !sum.storage().unique()) sum = sum.clone();
  if (map_) {
    const std::shared_ptr<const Weights> folded = weights(c);
    return foldable_->call_with(c, x, {folded->kernel, folded->bias, activation_, sum, padding});
  }
  const Tensor kernel = c[foldable_->kernel()];
  const Tensor bias = foldable_->bias() ? c[foldable_->bias()] : Tensor();
  return foldable_->call_with(c, x, {kernel, bias, activation_, sum, padding});
}

std::vector<FoldedLayer::Source> FoldedLayer::sources(const Call& c) const {
  std::vector<Source> sources;
  for (const Variable& variable : variables_) {
    const Tensor value = c[variable];
    sources.push_back({value.storage().get(), value.storage_offset(), value.storage()->version()});
  }
  return sources;
}

std::shared_ptr<const FoldedLayer::Weights> FoldedLayer::weights(Call& c) const {
  const size_t replica = static_cast<size_t>(c.options().replica_index);
  const std::vector<Source> now = sources(c);
  {
    const std::lock_guard lock(mutex_);
    if (replica < of_replica_.size() && of_replica_[replica] && of_replica_[replica]->sources == now)
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
  const Tensor kernel = c[foldable_->kernel()];
  Tensor bias = map.offset;
  if (foldable_->bias()) bias = ops::cast(c[foldable_->bias()], DType::float64) * map.scale + bias;
  return {
      {}, foldable_->scaled(kernel, ops::cast(map.scale, kernel.dtype())), ops::cast(bias, kernel.dtype())};
}

void FoldedLayer::release() const {
  const std::lock_guard lock(mutex_);
  of_replica_.clear();
}

}  // namespace nyala
