#pragma once

#include <memory>

#include <nyala/datasets/base/dataset.h>

namespace nyala::detail {

/// Whether each process of a strategy walks batches of its own: AutoShardPolicy::off and file.
bool are_own_batches(AutoShardPolicy policy);

/// The batches of a Dataset for one of several processes that each walk all of it (AutoShardPolicy::off) or
/// files of their own (file). The Dataset's batches are those of all processes: each is cut into as many
/// pieces as there are processes, which follow each other; sizes differ by at most one, larger ones first.
class OwnBatches {
 public:
  /// Throws InvalidArgumentError where a list of fewer files than processes, or none, is to be shared.
  OwnBatches(const Dataset& dataset, int64_t epoch, int processes, int process);

  bool next(Batch& piece);
  /// Passes over `count` pieces; returns how many there were.
  int64_t skip(int64_t count);

 private:
  bool fetch();

  Dataset dataset_;  // outlives its stream
  std::unique_ptr<ElementStream> stream_;
  int64_t pieces_;
  Batch batch_;
  int64_t rows_ = 0, next_ = 0;  // of batch_: its rows, and the next piece
};

}  // namespace nyala::detail
