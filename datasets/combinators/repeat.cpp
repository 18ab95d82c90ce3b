// Passes are opened one after the other, each with an epoch of its own, so that shuffles inside differ and
// skipping whole passes needs no element.
#include <limits>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

template <class T>
class RepeatStream : public ItemStream<T> {
 public:
  RepeatStream(const DatasetNode& input, int64_t count, const Iteration& iteration)
      : input_(input), count_(count), epoch_(iteration.epoch), iteration_(iteration) {}

  bool next(T& item) override {
    while (open()) {
      if (pass_->next(item)) {
        empty_ = false;
        return true;
      }
      close();
    }
    return false;
  }

  int64_t skip(int64_t count) override {
    int64_t skipped = 0;
    const int64_t length = iteration_.num_file_shards > 1 ? kUnknownCardinality : input_.cardinality();
    if (!pass_ && length > 0) {  // whole passes at once
      int64_t passes = count / length;
      if (count_ >= 0) passes = std::min(passes, count_ - number_);
      number_ += passes;
      skipped = passes * length;
    }
    while (skipped < count && open()) {
      const int64_t step = pass_->skip(count - skipped);
      skipped += step;
      empty_ = empty_ && step == 0;
      if (skipped < count) close();
    }
    return skipped;
  }

 private:
  /// Makes sure that a pass is open; false after the last.
  bool open() {
    if (pass_) return true;
    if (number_ == count_ || ended_) return false;
    Iteration pass = iteration_;
    pass.epoch = pass_epoch();
    pass.hint = nullptr;
    pass_ = open_stream<T>(input_, pass);
    empty_ = true;
    return true;
  }

  void close() {
    pass_.reset();
    ++number_;
    // Repeating nothing without end would never return, and many times late.
    ended_ = empty_ && (count_ < 0 || input_.cardinality() == 0);
  }

  /// No two passes of any two iterations share an epoch; those of the first iteration are 0, 1, 2...
  int64_t pass_epoch() const {
    const int64_t passes = count_ >= 0 ? count_ : int64_t{1} << 32;
    return static_cast<int64_t>(static_cast<uint64_t>(epoch_) * static_cast<uint64_t>(passes) +
                                static_cast<uint64_t>(number_));
  }

  const DatasetNode& input_;
  int64_t count_, epoch_;
  Iteration iteration_;
  int64_t number_ = 0;
  bool empty_ = true, ended_ = false;
  std::unique_ptr<ItemStream<T>> pass_;
};

class RepeatNode : public SelectingNode<RepeatNode> {
 public:
  RepeatNode(DatasetNodePointer input, int64_t count) : SelectingNode(std::move(input)), count_(count) {}

  template <class T>
  std::unique_ptr<ItemStream<T>> select(const Iteration& iteration) const {
    return std::make_unique<RepeatStream<T>>(input(), count_, iteration);
  }

  int64_t cardinality() const override {
    const int64_t once = input().cardinality();
    if (count_ == 0 || once == 0) return 0;
    if (count_ < 0) return kInfiniteCardinality;
    if (once < 0) return once;
    int64_t rows = 0;
    const bool overflows = __builtin_mul_overflow(once, count_, &rows);
    return overflows ? std::numeric_limits<int64_t>::max() : rows;  // as many as can be counted
  }

 private:
  int64_t count_;
};

}  // namespace

DatasetNodePointer repeat(DatasetNodePointer input, int64_t count) {
  if (count < -1)
    throw InvalidArgumentError(
        "Dataset::repeat: expected a count of at least 0, or -1 for no end, received " +
        std::to_string(count));
  return std::make_shared<RepeatNode>(std::move(input), count);
}

}  // namespace nyala::combinators
