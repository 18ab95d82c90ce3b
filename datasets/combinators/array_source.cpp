#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

class RangeStream : public RowStream {
 public:
  RangeStream(int64_t count, const Iteration& iteration)
      : next_(iteration.file_shard), step_(iteration.num_file_shards), count_(count) {
    if (step_ > 1 && step_ > count)
      throw InvalidArgumentError("AutoShardPolicy::file: expected a file for each of the " +
                                 std::to_string(step_) + " processes, received " + std::to_string(count) +
                                 "; AutoShardPolicy::data shares rows");
  }
  bool next(int64_t& row) override {
    if (next_ >= count_) return false;
    row = next_;
    next_ += step_;
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t left = next_ >= count_ ? 0 : (count_ - next_ - 1) / step_ + 1;
    const int64_t skipped = std::min(count, left);
    next_ += skipped * step_;
    return skipped;
  }

 private:
  int64_t next_, step_, count_;
};

/// Elements that share the bytes of their row.
class SliceStream : public ElementStream {
 public:
  SliceStream(const Element& arrays, int64_t count, const Iteration& iteration)
      : arrays_(arrays), rows_(count, iteration) {}
  bool next(Element& element) override {
    int64_t row = 0;
    if (!rows_.next(row)) return false;
    element = rows_of(arrays_, row, 1);
    for_each_tensor(element, [](Tensor& t) { t = t.with_shape(t.shape().slice(1, t.rank())); });
    return true;
  }
  int64_t skip(int64_t count) override { return rows_.skip(count); }

 private:
  const Element& arrays_;
  RangeStream rows_;
};

class ArraySource : public DatasetNode {
 public:
  ArraySource(Element arrays, int64_t count) : arrays_(std::move(arrays)), count_(count) {}
  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    return std::make_unique<SliceStream>(arrays_, count_, iteration);
  }
  const Element* arrays() const override { return &arrays_; }
  std::unique_ptr<RowStream> rows(const Iteration& iteration) const override {
    return std::make_unique<RangeStream>(count_, iteration);
  }
  int64_t cardinality() const override { return count_; }
  bool is_index_based() const override { return true; }
  std::optional<bool> is_batched() const override { return false; }

 private:
  Element arrays_;
  int64_t count_;
};

}  // namespace

DatasetNodePointer array_source(Element arrays) {
  const int64_t count = num_rows(arrays, "Dataset::from_tensor_slices");
  for_each_tensor(arrays, [](Tensor& tensor) {
    tensor = tensor.detached();
    if (!is_on_host(tensor.device())) tensor = tensor.to(Device());
  });
  return std::make_shared<ArraySource>(std::move(arrays), count);
}

}  // namespace nyala::combinators
