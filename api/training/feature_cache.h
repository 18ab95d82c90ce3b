#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <nyala/api/model/model_node.h>
#include <nyala/api/training/frozen_split.h>
#include <nyala/api/training/row_key.h>

namespace nyala {

/// What the frozen part in front of a model gives for each row of the data, computed when a row is seen for
/// the first time and found again by the row's content, wherever a shuffle puts it. Lives as long as one fit.
/// One thread at a time.
class FeatureCache {
 public:
  /// Throws InvalidArgumentError for a model whose train_step() or compute_loss() sees the data itself, and
  /// for one that only runs another on several devices.
  explicit FeatureCache(ModelNode& model);

  /// `batch` with features in place of x: what head() takes. The model is built and its optimizer knows what
  /// trains. Throws InvalidArgumentError where the model cannot be cut (split_frozen), or where the features
  /// of a row depend on the rows around it.
  Batch with_features(const Batch& batch, bool training);
  /// The part of the model that takes the features; null before the first batch.
  ModelNode* head() const { return split_.head.get(); }

  /// Throws InvalidArgumentError where the epoch, not the first one, had no row that was known: the data
  /// changes from epoch to epoch. With `partial` epochs, which need not come to old rows, only warns.
  void end_epoch(bool partial);

  /// Rows that are kept, and bytes of their features.
  int64_t rows() const { return static_cast<int64_t>(places_.size()); }
  size_t bytes() const { return bytes_; }

 private:
  struct Place {
    size_t chunk;
    int64_t row;
  };
  Tensors computed(const Tensors& x, bool training) const;
  void check_rows_alone(const Tensors& x, const Tensors& features, bool training);
  void keep(const Tensors& features, const std::vector<RowKey>& keys);
  Tensors gathered(const std::vector<RowKey>& keys) const;

  ModelNode& model_;
  FrozenSplit split_;
  std::unordered_map<RowKey, Place, RowKeyHash> places_;
  std::vector<Tensors> chunks_;  // features of the rows that were computed together
  size_t bytes_ = 0;
  bool checked_ = false;
  int64_t epochs_ = 0, known_in_epoch_ = 0, rows_in_epoch_ = 0;
};

}  // namespace nyala
