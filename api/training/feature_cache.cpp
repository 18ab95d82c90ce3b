// A row is known by a hash of its content, so that features are found whatever order a shuffle brings and no
// index has to go through the data pipeline. Missing rows of a batch are computed together, kept as one
// chunk, and the batch is put together by copies. The last row of the first batch is computed once more
// alone, which shows whether rows depend on each other.
#include <nyala/api/training/feature_cache.h>

#include <cmath>
#include <cstring>

#include <nyala/api/training/stepper.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kOption = "cache_frozen_features: ";

Tensors on_host(const Tensors& tensors) {
  Tensors out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.detached().to(Device{}));
  return out;
}

/// Some rows of tensors on the host, one after the other.
Tensors rows_at(const Tensors& tensors, const std::vector<int64_t>& rows) {
  Tensors out;
  for (const Tensor& tensor : tensors) {
    Tensor picked = Tensor::empty(tensor.shape().with(0, static_cast<int64_t>(rows.size())), tensor.dtype());
    for (size_t i = 0; i < rows.size(); ++i)
      picked.rows(static_cast<int64_t>(i), 1).copy_from(tensor.rows(rows[i], 1));
    out.push_back(std::move(picked));
  }
  return out;
}

/// As near as two orders of the same sums are.
bool is_same(const Tensor& a, const Tensor& b) {
  const auto left = ops::cast(a, DType::float64).to_vector<double>();
  const auto right = ops::cast(b, DType::float64).to_vector<double>();
  double size = 0, difference = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!std::isfinite(left[i]) || !std::isfinite(right[i])) continue;
    size = std::max(size, std::fabs(left[i]));
    difference = std::max(difference, std::fabs(left[i] - right[i]));
  }
  return difference <= 1e-3 * size;
}

}  // namespace

FeatureCache::FeatureCache(ModelNode& model) : model_(model) {
  const std::string who = std::string(kOption) + "model " + in_quotes(model.name()) + " ";
  if (model.overrides().train_step || model.overrides().compute_loss)
    throw InvalidArgumentError(who + "overrides train_step() or compute_loss(), which are given the data");
  if (model.template_model())
    throw InvalidArgumentError(who +
                               "runs another model on several devices; train that one in the scope of "
                               "a strategy instead");
}

Tensors FeatureCache::computed(const Tensors& x, bool training) const {
  return Stepper(*split_.prefix).forward({.x = x}, training);
}

// An op between the layers may mix rows (x - mean(x)): then a row has no features of its own.
void FeatureCache::check_rows_alone(const Tensors& x, const Tensors& features, bool training) {
  const int64_t rows = x[0].shape()[0];
  if (checked_ || rows < 2) return;
  checked_ = true;
  const Tensors alone = computed(rows_at(x, {rows - 1}), training);
  for (size_t i = 0; i < alone.size(); ++i)
    if (!is_same(alone[i], features[i].rows(rows - 1, 1)))
      throw InvalidArgumentError(std::string(kOption) + "the features of a row of model " +
                                 in_quotes(model_.name()) + " depend on the other rows of its batch");
}

void FeatureCache::keep(const Tensors& features, const std::vector<RowKey>& keys) {
  chunks_.push_back(features);  // first: no place may lead to what is not there
  for (size_t i = 0; i < keys.size(); ++i)
    places_.emplace(keys[i], Place{chunks_.size() - 1, static_cast<int64_t>(i)});
  for (const Tensor& feature : features) bytes_ += feature.bytes();
}

Tensors FeatureCache::gathered(const std::vector<RowKey>& keys) const {
  Tensors out;
  for (const Tensor& like : chunks_.at(0))
    out.push_back(Tensor::empty(like.shape().with(0, static_cast<int64_t>(keys.size())), like.dtype()));
  for (size_t row = 0; row < keys.size(); ++row) {
    const Place& place = places_.at(keys[row]);
    for (size_t i = 0; i < out.size(); ++i) {
      const Tensor from = chunks_[place.chunk][i].rows(place.row, 1);
      std::memcpy(out[i].raw_as<char>() + row * from.bytes(), from.raw(), from.bytes());
    }
  }
  return out;
}

Batch FeatureCache::with_features(const Batch& batch, bool training) {
  const Tensors x = on_host(batch.x);
  if (!split_.head) split_ = split_frozen(model_, model_.compiled_training(), x);
  std::vector<RowKey> keys, missing_keys;
  std::vector<int64_t> missing;
  for (int64_t row = 0; row < x[0].shape()[0]; ++row) {
    keys.push_back(row_key(x, row, training));
    if (places_.contains(keys.back())) continue;
    missing.push_back(row);
    missing_keys.push_back(keys.back());
  }
  if (training) {
    rows_in_epoch_ += static_cast<int64_t>(keys.size());
    known_in_epoch_ += static_cast<int64_t>(keys.size() - missing.size());
  }
  Batch out = batch;
  if (missing.empty() && !keys.empty()) {
    out.x = gathered(keys);
    return out;
  }
  const bool all = missing.size() == keys.size();
  const Tensors needed = all ? x : rows_at(x, missing);
  const Tensors features = computed(needed, training);
  check_rows_alone(needed, features, training);
  keep(features, missing_keys);
  out.x = all ? features : gathered(keys);
  return out;
}

void FeatureCache::end_epoch(bool partial) {
  const bool changes = epochs_++ > 0 && rows_in_epoch_ > 0 && known_in_epoch_ == 0;
  rows_in_epoch_ = known_in_epoch_ = 0;
  if (!changes) return;
  const std::string text = std::string(kOption) + "no row of epoch " + std::to_string(epochs_) +
                           " was seen in the epochs before it: is the data augmented or generated? Features "
                           "can only be kept of rows that come again";
  if (!partial) throw InvalidArgumentError(text);
  log(LogChannel::warning, text);
}

}  // namespace nyala
