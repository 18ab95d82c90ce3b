// As in PyTorch's DistributedDataParallel (Li et al., 2020, section 3.2.3) buckets are launched in the order
// of their numbers: the order in which they are finished depends on threads, and ranks that sum different
// buckets at one time would add what does not belong together.
#include <nyala/strategies/replicas/bucket_exchange.h>

#include <nyala/backend/core/error.h>

namespace nyala {

BucketExchange::BucketExchange(std::shared_ptr<Communicator> communicator)
    : communicator_(std::move(communicator)) {}

BucketExchange::~BucketExchange() { stop(); }

void BucketExchange::start() {
  if (made_in_ != forks()) leave_behind(threads_);
  made_in_ = forks();
  if (threads_.empty()) threads_.emplace_back([this] { work(); });
}

void BucketExchange::stop() noexcept {
  if (made_in_ != forks()) return leave_behind(threads_);
  bool in_step = false;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = given_up_ = true;
    in_step = begun_;
  }
  changed_.notify_all();
  if (in_step) communicator_->abort("the strategy ended in the middle of a step");
  for (std::thread& thread : threads_) thread.join();
}

void BucketExchange::begin(size_t count, std::function<void(size_t, Communicator&)> exchange) {
  start();
  {
    std::unique_lock lock(mutex_);
    given_up_ = true;  // a step that was left without finish()
    changed_.notify_all();
    changed_.wait(lock, [this] { return !begun_; });
    exchange_ = std::move(exchange);
    ready_.assign(count, false);
    error_.forget();
    given_up_ = false;
    begun_ = true;
  }
  changed_.notify_all();
}

void BucketExchange::ready(size_t bucket) {
  {
    const std::lock_guard lock(mutex_);
    ready_[bucket] = true;
  }
  changed_.notify_all();
}

void BucketExchange::finish() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !begun_; });
  }
  error_.rethrow();
}

void BucketExchange::cancel(const std::string& reason) noexcept {
  communicator_->abort(reason);
  if (!mutex_.lock_unless_lost()) return;
  given_up_ = true;
  mutex_.unlock();
  changed_.notify_all();
}

void BucketExchange::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return begun_ || stopping_; });
      if (stopping_) return;
    }
    exchange_all();
    {
      const std::lock_guard lock(mutex_);
      begun_ = false;
    }
    changed_.notify_all();
  }
}

void BucketExchange::exchange_all() {
  try {
    for (size_t bucket = 0; bucket < ready_.size() && wait_for(bucket); ++bucket)
      exchange_(bucket, *communicator_);
  } catch (...) {
    error_.keep();
  }
}

bool BucketExchange::wait_for(size_t bucket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_[bucket] || given_up_; });
  return !given_up_;
}

}  // namespace nyala
