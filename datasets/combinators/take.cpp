#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

template <class T>
class TakeStream : public ItemStream<T> {
 public:
  TakeStream(std::unique_ptr<ItemStream<T>> input, int64_t count) : input_(std::move(input)), left_(count) {}
  bool next(T& item) override {
    if (left_ == 0 || !input_->next(item)) return false;
    --left_;
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = input_->skip(std::min(count, left_));
    left_ -= skipped;
    return skipped;
  }

 private:
  std::unique_ptr<ItemStream<T>> input_;
  int64_t left_;
};

class TakeNode : public SelectingNode<TakeNode> {
 public:
  TakeNode(DatasetNodePointer input, int64_t count) : SelectingNode(std::move(input)), count_(count) {}

  template <class T>
  std::unique_ptr<ItemStream<T>> select(const Iteration& iteration) const {
    return std::make_unique<TakeStream<T>>(open_stream<T>(input(), iteration), count_);
  }

  int64_t cardinality() const override {
    const int64_t there = input().cardinality();
    if (there == kUnknownCardinality) return count_ == 0 ? 0 : kUnknownCardinality;
    return there == kInfiniteCardinality ? count_ : std::min(there, count_);
  }

 private:
  int64_t count_;
};

}  // namespace

DatasetNodePointer take(DatasetNodePointer input, int64_t count) {
  if (count < -1)
    throw InvalidArgumentError("Dataset::take: expected a count of at least 0, or -1 for all, received " +
                               std::to_string(count));
  if (count == -1) return input;
  return std::make_shared<TakeNode>(std::move(input), count);
}

}  // namespace nyala::combinators
