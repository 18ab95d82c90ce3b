#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

template <class T>
class SkipStream : public ItemStream<T> {
 public:
  SkipStream(std::unique_ptr<ItemStream<T>> input, int64_t count)
      : input_(std::move(input)), pending_(count) {}
  bool next(T& item) override {
    input_->skip(std::exchange(pending_, 0));
    return input_->next(item);
  }
  int64_t skip(int64_t count) override {
    input_->skip(std::exchange(pending_, 0));
    return input_->skip(count);
  }

 private:
  std::unique_ptr<ItemStream<T>> input_;
  int64_t pending_;
};

class SkipNode : public SelectingNode<SkipNode> {
 public:
  SkipNode(DatasetNodePointer input, int64_t count) : SelectingNode(std::move(input)), count_(count) {}

  template <class T>
  std::unique_ptr<ItemStream<T>> select(const Iteration& iteration) const {
    return std::make_unique<SkipStream<T>>(open_stream<T>(input(), iteration), count_);
  }

  int64_t cardinality() const override {
    const int64_t there = input().cardinality();
    return there < 0 ? there : std::max<int64_t>(0, there - count_);
  }

 private:
  int64_t count_;
};

}  // namespace

DatasetNodePointer skip(DatasetNodePointer input, int64_t count) {
  if (count < -1)
    throw InvalidArgumentError("Dataset::skip: expected a count of at least 0, or -1 for all, received " +
                               std::to_string(count));
  if (count == -1) return take(std::move(input), 0);
  return std::make_shared<SkipNode>(std::move(input), count);
}

}  // namespace nyala::combinators
