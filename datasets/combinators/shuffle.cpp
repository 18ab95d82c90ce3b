#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/seeded_key.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

/// A buffer of a fixed size, as tf.data's: it is filled up, then a random place of it goes out and the last
/// item takes that place. With a buffer for all items this is the Fisher-Yates shuffle.
template <class T>
class ShuffleStream : public ItemStream<T> {
 public:
  ShuffleStream(std::unique_ptr<ItemStream<T>> input, int64_t buffer_size, uint64_t key)
      : input_(std::move(input)), buffer_size_(static_cast<size_t>(buffer_size)), random_(key) {}

  bool next(T& item) override {
    T fresh{};
    while (!ended_ && buffer_.size() < buffer_size_) {
      if (input_->next(fresh))
        buffer_.push_back(std::move(fresh));
      else
        ended_ = true;
    }
    if (buffer_.empty()) return false;
    const size_t place = static_cast<size_t>(random_.below(buffer_.size()));
    item = std::move(buffer_[place]);
    if (place + 1 < buffer_.size()) buffer_[place] = std::move(buffer_.back());
    buffer_.pop_back();
    return true;
  }

 private:
  std::unique_ptr<ItemStream<T>> input_;
  std::vector<T> buffer_;
  size_t buffer_size_;
  DrawStream random_;
  bool ended_ = false;
};

class ShuffleNode : public SelectingNode<ShuffleNode> {
 public:
  ShuffleNode(DatasetNodePointer input, int64_t buffer_size, const ShuffleConfig& config)
      : SelectingNode(std::move(input)),
        buffer_size_(buffer_size),
        reshuffle_(config.reshuffle_each_iteration),
        key_(config.seed) {}

  template <class T>
  std::unique_ptr<ItemStream<T>> select(const Iteration& iteration) const {
    const uint64_t own = mix_key(key_.value(), "Dataset.shuffle"),
                   key = reshuffle_ ? mix_key(own, static_cast<uint64_t>(iteration.epoch)) : own;
    return std::make_unique<ShuffleStream<T>>(open_stream<T>(input(), iteration), buffer_size_, key);
  }
  int64_t cardinality() const override { return input().cardinality(); }

 private:
  int64_t buffer_size_;
  bool reshuffle_;
  SeededKey key_;
};

}  // namespace

DatasetNodePointer shuffle(DatasetNodePointer input, int64_t buffer_size, const ShuffleConfig& config) {
  if (buffer_size < 1)
    throw InvalidArgumentError("Dataset::shuffle: expected a buffer_size of at least 1, received " +
                               std::to_string(buffer_size));
  return std::make_shared<ShuffleNode>(std::move(input), buffer_size, config);
}

}  // namespace nyala::combinators
