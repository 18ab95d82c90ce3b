#include <map>
#include <mutex>

#include <nyala/backend/core/mutex.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

using Elements = std::vector<Element>;

/// What all traversals of a cache share; `complete` is set once and stays.
struct Memory {
  Mutex mutex;
  std::unique_ptr<const Elements> complete;
};

class FillStream : public ElementStream {
 public:
  FillStream(std::unique_ptr<ElementStream> input, Memory& memory)
      : input_(std::move(input)), memory_(memory) {}
  bool next(Element& element) override {
    if (!seen_) return false;
    if (input_->next(element)) {
      seen_->push_back(element);
      return true;
    }
    const std::lock_guard lock(memory_.mutex);
    if (!memory_.complete) memory_.complete = std::move(seen_);
    seen_ = nullptr;
    return false;
  }

 private:
  std::unique_ptr<ElementStream> input_;
  Memory& memory_;
  std::unique_ptr<Elements> seen_ = std::make_unique<Elements>();
};

class RecallStream : public ElementStream {
 public:
  explicit RecallStream(const Elements& elements) : elements_(elements) {}
  bool next(Element& element) override {
    if (next_ == elements_.size()) return false;
    element = elements_[next_++];
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = std::min(count, static_cast<int64_t>(elements_.size() - next_));
    next_ += static_cast<size_t>(skipped);
    return skipped;
  }

 private:
  const Elements& elements_;
  size_t next_ = 0;
};

class CacheNode : public UnaryNode {
 public:
  using UnaryNode::UnaryNode;
  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    Memory& memory = memory_of(iteration);
    const std::lock_guard lock(memory.mutex);
    if (memory.complete) return std::make_unique<RecallStream>(*memory.complete);
    Iteration below = iteration;
    below.epoch = 0;  // what is kept must not depend on the epoch in which it happened to be kept
    below.hint = nullptr;
    return std::make_unique<FillStream>(input().elements(below), memory);
  }
  int64_t cardinality() const override { return input().cardinality(); }

 private:
  Memory& memory_of(const Iteration& iteration) const {
    const std::lock_guard lock(mutex_);
    return memories_[{iteration.num_file_shards, iteration.file_shard}];
  }

  mutable Mutex mutex_;
  mutable std::map<std::pair<int64_t, int64_t>, Memory> memories_;  // by the files that are meant
};

}  // namespace

DatasetNodePointer cache(DatasetNodePointer input) { return std::make_shared<CacheNode>(std::move(input)); }

}  // namespace nyala::combinators
