// Elements that are known to be there wait in a queue: the batch behind asks how many there are, and passes
// over those of others, which come no further than here. A map or prefetch between the two may take them on
// another thread.
#include <deque>
#include <mutex>

#include <nyala/backend/core/mutex.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

class AheadStream : public ElementStream, public ShardHint {
 public:
  explicit AheadStream(std::unique_ptr<ElementStream> input) : input_(std::move(input)) {}

  bool next(Element& element) override {
    const std::lock_guard lock(mutex_);
    if (ahead_.empty() && !read_one()) return false;
    element = std::move(ahead_.front());
    ahead_.pop_front();
    return true;
  }
  int64_t skip(int64_t count) override {
    const std::lock_guard lock(mutex_);
    int64_t skipped = 0;
    for (; skipped < count && (!ahead_.empty() || read_one()); ++skipped) ahead_.pop_front();
    return skipped;
  }
  int64_t available(int64_t wanted) override {
    const std::lock_guard lock(mutex_);
    while (seen_ < wanted && read_one()) {
    }
    return std::min(seen_, wanted);
  }

 private:
  bool read_one() {
    Element element;
    if (ended_ || !input_->next(element)) {
      ended_ = true;
      return false;
    }
    ahead_.push_back(std::move(element));
    ++seen_;
    return true;
  }

  std::unique_ptr<ElementStream> input_;
  Mutex mutex_;
  std::deque<Element> ahead_;
  int64_t seen_ = 0;
  bool ended_ = false;
};

class ShardHintNode : public SelectingNode<ShardHintNode> {
 public:
  using SelectingNode::SelectingNode;

  template <class T>
  std::unique_ptr<ItemStream<T>> select(const Iteration& iteration) const {
    if constexpr (std::is_same_v<T, Element>)
      if (iteration.hint) {
        const auto& place = iteration.hint;
        Iteration below = iteration;
        below.hint = nullptr;
        auto ahead = std::make_unique<AheadStream>(input().elements(below));
        *place = ahead.get();
        return ahead;
      }
    return detail::open_stream<T>(input(), iteration);
  }
  /// Where a hint is followed, elements are counted as they come.
  int64_t cardinality() const override { return input().cardinality(); }
  bool has_shard_hint() const override { return true; }
};

}  // namespace

DatasetNodePointer shard_hint(DatasetNodePointer input) {
  return std::make_shared<ShardHintNode>(std::move(input));
}

}  // namespace nyala::combinators
