#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

template <class T>
class ShardStream : public ItemStream<T> {
 public:
  ShardStream(std::unique_ptr<ItemStream<T>> input, int64_t num_shards, int64_t index)
      : input_(std::move(input)), num_shards_(num_shards), gap_(index) {}
  bool next(T& item) override {
    input_->skip(std::exchange(gap_, num_shards_ - 1));
    return input_->next(item);
  }
  int64_t skip(int64_t count) override {
    if (count == 0) return 0;
    int64_t wanted = 0;  // up to and with the last element that is passed over
    if (__builtin_mul_overflow(count - 1, num_shards_, &wanted) ||
        __builtin_add_overflow(wanted, gap_ + 1, &wanted))
      wanted = INT64_MAX;
    const int64_t there = input_->skip(wanted);
    const int64_t skipped = there <= gap_ ? 0 : (there - gap_ - 1) / num_shards_ + 1;
    gap_ = num_shards_ - 1;
    return std::min(skipped, count);
  }

 private:
  std::unique_ptr<ItemStream<T>> input_;
  int64_t num_shards_;
  int64_t gap_;  // elements of other shards before the next one of this
};

class ShardNode : public SelectingNode<ShardNode> {
 public:
  ShardNode(DatasetNodePointer input, int64_t num_shards, int64_t index)
      : SelectingNode(std::move(input)), num_shards_(num_shards), index_(index) {}

  template <class T>
  std::unique_ptr<ItemStream<T>> select(const Iteration& iteration) const {
    return std::make_unique<ShardStream<T>>(open_stream<T>(input(), iteration), num_shards_, index_);
  }

  int64_t cardinality() const override {
    const int64_t there = input().cardinality();
    if (there < 0) return there;
    return there / num_shards_ + (index_ < there % num_shards_ ? 1 : 0);
  }

 private:
  int64_t num_shards_, index_;
};

}  // namespace

DatasetNodePointer shard(DatasetNodePointer input, int64_t num_shards, int64_t index) {
  if (num_shards == kShardHint && index == kShardHint) return shard_hint(std::move(input));
  if (num_shards < 1 || index < 0 || index >= num_shards)
    throw InvalidArgumentError(
        "Dataset::shard: expected num_shards of at least 1 and an index below it, received " +
        std::to_string(num_shards) + " and " + std::to_string(index));
  return std::make_shared<ShardNode>(std::move(input), num_shards, index);
}

}  // namespace nyala::combinators
