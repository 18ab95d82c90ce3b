// One thread pulls ahead into a bounded queue; the consumer takes from the front. An error is an element of
// the queue like any other, thrown when its turn comes, after what was read before it.
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/thread_team.h>
#include <nyala/datasets/base/partial_batches.h>
#include <nyala/datasets/combinators/background.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

constexpr int64_t kAutotunedBuffer = 2;

class PrefetchStream : public ElementStream {
 public:
  PrefetchStream(std::unique_ptr<ElementStream> input, int64_t buffer_size)
      : input_(std::move(input)), buffer_size_(static_cast<size_t>(buffer_size)) {}

  ~PrefetchStream() override {
    if (made_in_ != forks()) {
      new std::thread(std::move(thread_));
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  bool next(Element& element) override {
    if (done_) return false;
    if (thread_.joinable()) check_not_forked(made_in_, "Dataset.prefetch");
    if (!thread_.joinable()) {
      made_in_ = forks();
      thread_ = start_thread([this] { work(); });
    }
    Pulled front;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !ready_.empty() || failure_; });
      if (ready_.empty()) {
        front = ended_by(failure_);
      } else {
        front = std::move(ready_.front());
        ready_.pop_front();
      }
    }
    changed_.notify_all();
    done_ = front.ended;
    return front.deliver(element);
  }

  int64_t skip(int64_t count) override {
    return thread_.joinable() || done_ ? ElementStream::skip(count) : input_->skip(count);
  }

 private:
  void work() noexcept {
    try {
      pull_all();
    } catch (...) {  // no memory for a place in ready_
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  void pull_all() {
    context_.enter();
    for (bool ended = false; !ended;) {
      Pulled pulled;
      pull_into(pulled, [this](Element& element) { return input_->next(element); });
      ended = pulled.ended;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || ready_.size() < buffer_size_; });
      if (stopped_) return;
      ready_.push_back(std::move(pulled));
      changed_.notify_all();
    }
  }

  std::unique_ptr<ElementStream> input_;
  size_t buffer_size_;
  BackgroundContext context_;
  uint32_t made_in_ = forks();
  Mutex mutex_;
  Condition changed_;
  std::deque<Pulled> ready_;
  std::exception_ptr failure_;  // behind what is ready
  bool stopped_ = false;
  bool done_ = false;  // the consumer has seen the end
  std::thread thread_;
};

class PrefetchNode : public UnaryNode, public PartialBatches {
 public:
  PrefetchNode(DatasetNodePointer input, int64_t buffer_size)
      : UnaryNode(std::move(input)), buffer_size_(buffer_size) {}
  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    return std::make_unique<PrefetchStream>(input().elements(iteration), buffer_size_);
  }
  /// Where a hint says what to leave out, that is worth more than what is made ahead.
  std::unique_ptr<ItemStream<PartOfBatch>> parts(const Iteration& iteration,
                                                 const Choice& choice) const override {
    const auto* const batches = dynamic_cast<const PartialBatches*>(&input());
    return batches && iteration.hint ? batches->parts(iteration, choice) : nullptr;
  }
  int64_t cardinality() const override { return input().cardinality(); }
  bool has_shard_hint() const override { return input().has_shard_hint(); }

 private:
  int64_t buffer_size_;
};

}  // namespace

DatasetNodePointer prefetch(DatasetNodePointer input, int64_t buffer_size) {
  if (buffer_size == kAutotune) buffer_size = kAutotunedBuffer;
  if (buffer_size < 0)
    throw InvalidArgumentError(
        "Dataset::prefetch: expected a buffer_size of at least 0, or kAutotune, received " +
        std::to_string(buffer_size));
  if (buffer_size == 0) return input;
  return std::make_shared<PrefetchNode>(std::move(input), buffer_size);
}

}  // namespace nyala::combinators
