// Random numbers of f are keyed by seed, epoch and position, so that they do not depend on which worker runs
// it. Workers take turns at the input and open a slot in the same lock, so that the order of slots is the
// order of elements; f runs outside of it. A deque keeps slots where they are while others come and go.
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/seeded_key.h>
#include <nyala/backend/runtime/thread_team.h>
#include <nyala/datasets/combinators/background.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

constexpr int kMostCalls = 65'536;  // each is a thread

/// f with the random key of a traversal.
class KeyedFunction {
 public:
  KeyedFunction(const MapFunction& f, uint64_t key) : f_(f), key_(key) {}
  Element operator()(Element element, int64_t position) const {
    DrawStream random(mix_key(key_, static_cast<uint64_t>(position)));
    return f_(std::move(element), random);
  }

 private:
  const MapFunction& f_;  // of the node, which outlives its streams
  uint64_t key_;
};

class MapStream : public ElementStream {
 public:
  MapStream(std::unique_ptr<ElementStream> input, KeyedFunction f) : input_(std::move(input)), f_(f) {}
  bool next(Element& element) override {
    if (!input_->next(element)) return false;
    element = f_(std::move(element), position_++);
    return true;
  }
  int64_t skip(int64_t count) override {
    const int64_t skipped = input_->skip(count);
    position_ += skipped;
    return skipped;
  }

 private:
  std::unique_ptr<ElementStream> input_;
  KeyedFunction f_;
  int64_t position_ = 0;
};

/// Workers take elements from the input one at a time, in order, and put results where the consumer waits for
/// them in the same order. At most two elements per worker are under way or waiting.
class ParallelMapStream : public ElementStream {
 public:
  ParallelMapStream(std::unique_ptr<ElementStream> input, KeyedFunction f, int calls)
      : input_(std::move(input)), f_(f), calls_(calls) {}

  ~ParallelMapStream() override {
    if (made_in_ != forks()) {
      leave_behind(workers_);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  bool next(Element& element) override {
    if (done_) return false;
    if (!workers_.empty()) check_not_forked(made_in_, "Dataset.map");
    start();
    Pulled front;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return slots_.empty() ? failure_ != nullptr : slots_.front().ready; });
      if (slots_.empty()) {
        front = ended_by(failure_);
      } else {
        front = std::move(slots_.front().result);
        slots_.pop_front();
      }
    }
    changed_.notify_all();
    done_ = front.ended;
    return front.deliver(element);
  }

  int64_t skip(int64_t count) override {
    if (!workers_.empty() || done_) return ElementStream::skip(count);
    const int64_t skipped = input_->skip(count);
    position_ += skipped;
    return skipped;
  }

 private:
  struct Slot {
    Pulled result = {};
    bool ready = false;
  };

  void start() {
    if (!workers_.empty()) return;
    made_in_ = forks();
    workers_.reserve(static_cast<size_t>(calls_));
    for (int i = 0; i < calls_; ++i) workers_.push_back(start_thread([this] { work(); }));
  }

  void work() noexcept {
    try {
      map_all();
    } catch (...) {  // no memory for a slot
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      input_ended_ = true;
      changed_.notify_all();
    }
  }

  void map_all() {
    context_.enter();
    const size_t most = static_cast<size_t>(calls_) * 2;
    for (;;) {
      Slot* slot = nullptr;
      int64_t position = 0;
      {
        const std::lock_guard turn(input_mutex_);  // the order of pulls is the order of slots
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return stopped_ || input_ended_ || slots_.size() < most; });
          if (stopped_ || input_ended_) return;
          slot = &slots_.emplace_back();  // a deque: stays where it is while others come and go
        }
        position = position_++;
        pull_into(slot->result, [this](Element& element) { return input_->next(element); });
        if (slot->result.ended) {
          finish(*slot, true);
          return;
        }
      }
      pull_into(slot->result, [&](Element& element) {
        element = f_(std::move(element), position);
        return true;
      });
      finish(*slot, slot->result.ended);
    }
  }

  void finish(Slot& slot, bool ended) {
    {
      const std::lock_guard lock(mutex_);
      slot.ready = true;
      input_ended_ = input_ended_ || ended;  // after an exception nothing more is asked for
    }
    changed_.notify_all();
  }

  std::unique_ptr<ElementStream> input_;
  KeyedFunction f_;
  int calls_;
  BackgroundContext context_;
  Mutex input_mutex_;
  uint32_t made_in_ = forks();
  Mutex mutex_;
  Condition changed_;
  std::deque<Slot> slots_;
  int64_t position_ = 0;      // guarded by input_mutex_
  bool input_ended_ = false;  // guarded by mutex_, as are slots_, failure_ and stopped_
  std::exception_ptr failure_;  // behind all slots
  bool stopped_ = false;
  bool done_ = false;
  std::vector<std::thread> workers_;
};

class MapNode : public UnaryNode {
 public:
  MapNode(DatasetNodePointer input, MapFunction f, const MapConfig& config)
      : UnaryNode(std::move(input)), f_(std::move(f)), calls_(config.num_parallel_calls), key_(config.seed) {}

  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    const uint64_t own = mix_key(key_.value(), "Dataset.map");
    const KeyedFunction f(f_, mix_key(own, static_cast<uint64_t>(iteration.epoch)));
    const int calls = calls_ == kAutotune ? available_cores() : calls_;
    if (calls == 0) return std::make_unique<MapStream>(input().elements(iteration), f);
    return std::make_unique<ParallelMapStream>(input().elements(iteration), f, calls);
  }
  int64_t cardinality() const override { return input().cardinality(); }
  bool has_shard_hint() const override { return input().has_shard_hint(); }

 private:
  MapFunction f_;
  int calls_;
  SeededKey key_;
};

}  // namespace

DatasetNodePointer map(DatasetNodePointer input, MapFunction f, const MapConfig& config) {
  if (config.num_parallel_calls < kAutotune || config.num_parallel_calls > kMostCalls)
    throw InvalidArgumentError("Dataset::map: expected num_parallel_calls from 0 to " +
                               std::to_string(kMostCalls) + ", or kAutotune, received " +
                               std::to_string(config.num_parallel_calls));
  return std::make_shared<MapNode>(std::move(input), std::move(f), config);
}

}  // namespace nyala::combinators
