#pragma once

#include <functional>
#include <memory>

#include <nyala/datasets/base/dataset_node.h>

namespace nyala {

/// Some rows of a batch, and where they are in it.
struct PartOfBatch {
  Element rows;
  int64_t first = 0;
  int64_t batch_rows = 0;
};

/// A node of batches that can read some rows of each alone: what other rows would cost (reading, decoding) is
/// saved.
class PartialBatches {
 public:
  /// Of a batch of so many rows: the first one wanted, and how many.
  using Choice = std::function<std::pair<int64_t, int64_t>(int64_t batch_rows)>;

  virtual ~PartialBatches() = default;
  /// Null where the node cannot. The stream refers to the node.
  virtual std::unique_ptr<ItemStream<PartOfBatch>> parts(const Iteration& iteration,
                                                         const Choice& choice) const = 0;
};

}  // namespace nyala
