#pragma once

#include <cstddef>
#include <iterator>
#include <memory>

#include <nyala/datasets/base/dataset_node.h>

namespace nyala {

/// One traversal of a Dataset. Dropping it early ends its threads. One thread at a time; moves only.
class DatasetIterator {
 public:
  DatasetIterator(DatasetNodePointer node, int64_t epoch);
  DatasetIterator(DatasetIterator&&) noexcept = default;
  DatasetIterator& operator=(DatasetIterator&& other) noexcept;

  /// Fetches the next element into `batch`, whose vectors are used again; false at the end. What a map, a
  /// filter or a generator throws comes out here, and ends the iteration.
  bool next(Batch& batch);

  /// Passes over `count` elements and returns how many there were. Costs nothing per element where elements
  /// are found by position (arrays, shuffled or not, batched); maps are not computed for what is skipped.
  int64_t skip(int64_t count);

  /// Elements fetched or passed over so far.
  int64_t position() const { return position_; }
  int64_t epoch() const { return epoch_; }

  /// Walks what is left, for range-for.
  class RangeIterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    explicit RangeIterator(std::unique_ptr<DatasetIterator> own, DatasetIterator& walked);
    Batch& operator*() { return batch_; }
    Batch* operator->() { return &batch_; }
    RangeIterator& operator++() {
      more_ = walked_->next(batch_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const RangeIterator& a, std::default_sentinel_t) { return !a.more_; }

   private:
    std::unique_ptr<DatasetIterator> own_;
    DatasetIterator* walked_;
    Batch batch_ = {};
    bool more_ = true;
  };

  RangeIterator begin() &;
  RangeIterator begin() &&;
  std::default_sentinel_t end() const { return {}; }

 private:
  DatasetNodePointer node_;
  std::unique_ptr<ElementStream> stream_;
  int64_t epoch_;
  int64_t position_ = 0;
  bool ended_ = false;
};

}  // namespace nyala
