// A barrier with a generation number: the last one to arrive raises it and wakes the others, who spin a
// little and then sleep. Collectives are two of them around a table on which everybody lays a value and reads
// all, in the order of replicas, so that the sum is the same on each; of small values copies are laid there,
// which saves the second meeting (two tables in turn make that safe). Who fails or ends breaks the group: an
// error instead of waiting for ever.
#include <nyala/strategies/replicas/replica_group.h>

#include <algorithm>
#include <new>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/cpu_hints.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Sums of channels and of metrics are smaller; gradients go another way.
constexpr size_t kCopiedBytes = 64 * 1024;

/// Spinning pays only while every replica has a core of its own.
int spins_for(size_t replicas) { return static_cast<int>(replicas) <= available_cores() ? 4000 : 0; }

}  // namespace

std::string place_of(const char* what, int id, Device device) noexcept {
  try {
    return std::string(what) + " " + std::to_string(id) + " on " + device.to_string() + ": ";
  } catch (const std::bad_alloc&) {
    return {};
  }
}

class ReplicaGroup::Context final : public Collectives {
 public:
  Context(ReplicaGroup& group, int local_index) : group_(group), index_(local_index) {}
  int replica_id() const override { return group_.first_replica() + index_; }
  int num_replicas() const override { return group_.num_replicas(); }
  int local_index() const override { return index_; }
  int num_local_replicas() const override { return group_.size(); }
  ProcessExchange* processes() const override { return group_.processes(); }

  Tensor all_reduce_sum(const Tensor& value, const char* what) override {
    const Device device = value.device();
    const auto sum_of = [device](const Tensors& shown) {
      Tensor sum = shown[0].to(device).clone();
      for (size_t i = 1; i < shown.size(); ++i) sum = ops::add(sum, ops::seen_from(shown[i], device));
      return sum;
    };
    if (processes())
      return with_others(what, value, same_kind, [&](const Tensors& shown) {
        const Tensor sum = sum_of(shown);
        processes()->all_reduce_sum(sum, what);
        return Tensors{sum};
      })[0];
    Tensor sum;
    exchange(what, value, same_kind, [&](const Tensors& shown) { sum = sum_of(shown); });
    return sum;
  }

  Tensor all_gather(const Tensor& value) override {
    const auto stacked = [&](const Tensors& shown) {
      Shape shape{num_local_replicas()};
      for (int64_t size : value.shape()) shape.append(size);
      const Tensor all = Tensor::empty(shape, value.dtype(), value.device());
      for (int i = 0; i < num_local_replicas(); ++i)
        all.rows(i, 1).with_shape(value.shape()).copy_from(shown[static_cast<size_t>(i)]);
      return all;
    };
    if (processes())
      return with_others("all_gather", value, same_kind, [&](const Tensors& shown) {
        return Tensors{processes()->all_gather(stacked(shown), "all_gather")};
      })[0];
    Tensor all;
    exchange("all_gather", value, same_kind, [&](const Tensors& shown) { all = stacked(shown); });
    return all;
  }

  Tensors all_values(const Tensor& value, const char* what) override {
    if (processes())
      return with_others(what, value, same_rank,
                         [&](const Tensors& shown) { return processes()->all_values(shown, what); });
    Tensors values;
    exchange(what, value, same_rank, [&](const Tensors& shown) {
      for (const Tensor& other : shown) {
        values.push_back(Tensor::empty(other.shape(), other.dtype(), value.device()));
        values.back().copy_from(other);
      }
    });
    return values;
  }

  void barrier(std::string_view what, const void* contribution,
               const std::function<void(Contributions)>& once) override {
    group_.barrier(index_, what, contribution, once);
  }

 private:
  static bool same_kind(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype();
  }
  static bool same_rank(const Tensor& a, const Tensor& b) {
    return a.rank() == b.rank() && a.dtype() == b.dtype();
  }

  /// Shows `value`; the first replica makes one of what the replicas of this process show, together with
  /// other processes, and all get copies of that.
  template <class Combine>
  Tensors with_others(const char* what, const Tensor& value, bool (*fits)(const Tensor&, const Tensor&),
                      Combine&& combine) {
    group_.check_whole();
    const Tensors& shown = group_.meet_at_table(index_, what, value.detached()).shown;
    check_shown(what, shown, fits);
    if (index_ == 0) group_.from_all_ = combine(shown);
    group_.meet(index_, what);
    Tensors own;
    for (const Tensor& made : group_.from_all_) {
      own.push_back(Tensor::empty(made.shape(), made.dtype(), value.device()));
      own.back().copy_from(made);
    }
    return own;
  }

  void check_shown(const char* what, const Tensors& shown, bool (*fits)(const Tensor&, const Tensor&)) {
    for (size_t other = 1; other < shown.size(); ++other)
      if (!fits(shown[other], shown[0])) {
        group_.cancel("replicas came to one " + std::string(what) +
                      " with different tensors: " + group_.replica(0) + " with " + kind_of(shown[0]) + ", " +
                      group_.replica(static_cast<int>(other)) + " with " + kind_of(shown[other]));
        break;
      }
    group_.check_whole();
  }

  /// Shows `value` and lets `read` look at everybody's. Of small values that must be alike a copy is shown,
  /// so that nobody has to wait until all have looked: where replicas share cores, waiting is what it costs.
  template <class Read>
  void exchange(const char* what, const Tensor& value, bool (*fits)(const Tensor&, const Tensor&),
                Read&& read) {
    group_.check_whole();
    group_.check_complete(what);
    const bool copied = is_on_host(value.device()) && fits == same_kind && value.bytes() <= kCopiedBytes;
    const Tensors& shown =
        group_.meet_at_table(index_, what, copied ? value.detached().clone() : value.detached()).shown;
    check_shown(what, shown, fits);
    read(shown);
    if (!copied) group_.meet(index_, what);
  }

  static std::string kind_of(const Tensor& value) {
    return std::string(name_of(value.dtype())) + " " + value.shape().to_string();
  }

  ReplicaGroup& group_;
  int index_;
};

ReplicaGroup::ReplicaGroup(std::vector<Device> devices, ReplicaIds ids)
    : devices_(std::move(devices)),
      ids_(ids.all > 0 ? ids : ReplicaIds{0, static_cast<int>(devices_.size())}),
      spins_(spins_for(devices_.size())),
      waiting_(devices_.size()),
      turns_(devices_.size()),
      names_(devices_.size()),
      contributions_(devices_.size()) {
  for (Table& table : tables_) table = {Tensors(devices_.size()), std::vector<const char*>(devices_.size())};
  for (int index = 0; index < size(); ++index) contexts_.push_back(std::make_unique<Context>(*this, index));
}

ReplicaGroup::~ReplicaGroup() = default;

void ReplicaGroup::reset() {
  begun_in_ = forks();
  arrived_ = 0;
  left_ = 0;
  last_left_ = -1;
  broken_ = false;
  job_ = nullptr;
  job_error_.forget();
  for (Table& table : tables_) {
    std::fill(table.shown.begin(), table.shown.end(), Tensor());
    std::fill(table.kinds.begin(), table.kinds.end(), nullptr);
  }
  std::fill(turns_.begin(), turns_.end(), 0);
  for (auto& waiting : waiting_) waiting = nullptr;
}

std::string ReplicaGroup::replica(int local_index) const {
  return "replica " + std::to_string(ids_.first + local_index);
}

void ReplicaGroup::check_complete(const char* what) const {
  if (ids_.all == size() || processes_) return;
  throw StateError(std::string(what) + ": " + std::to_string(ids_.all - size()) + " of the " +
                   std::to_string(ids_.all) +
                   " replicas are in other processes, and nothing was given that reaches them");
}

std::string ReplicaGroup::awaited_from(int index) const {
  for (int other = 0; other < size(); ++other) {
    const char* what = waiting_[static_cast<size_t>(other)].load();
    if (other == index || !what) continue;
    if (what != kOnce) return what;
    std::lock_guard lock(mutex_);
    return names_[static_cast<size_t>(other)];
  }
  return "a collective";
}

void ReplicaGroup::leave(int index) {
  last_left_ = index;
  left_.fetch_add(1);
  if (arrived_.load() == 0) return;
  const std::string what = awaited_from(index);
  cancel(replica(index) + " did not come to " + what + ": it ended its step while others wait there" +
         (what == "merge_call()" ? ". Some replicas made a different number of merge_call() calls" : ""));
}

void ReplicaGroup::cancel(std::string reason) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (broken_.load()) return;
    reason_ = std::move(reason);
    broken_ = true;
  }
  generation_.fetch_add(1);
  generation_.notify_all();
}

void ReplicaGroup::check_whole() const {
  if (begun_in_ != forks())
    throw StateError(
        "fork() was called inside a step on several devices, whose threads are not in the child; "
        "only exec and _exit may follow there");
  if (!broken_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  throw CommunicationError("a collective among replicas was cancelled: " + reason_);
}

void ReplicaGroup::check_same_meeting(const Table& table) {
  for (int index = 1; index < size(); ++index) {
    const char *first = table.kinds[0], *other = table.kinds[static_cast<size_t>(index)];
    if (first == other && first != kOnce) continue;
    std::unique_lock lock(mutex_);
    const std::string one = first == kOnce ? names_[0] : first;
    const std::string two = other == kOnce ? names_[static_cast<size_t>(index)] : other;
    lock.unlock();
    if (one != two)
      cancel("replicas do different things at one time: " + replica(0) + " came to " + one + ", " +
             replica(index) + " to " + two);
  }
  check_whole();
}

const ReplicaGroup::Table& ReplicaGroup::meet_at_table(int index, const char* what, const Tensor& value) {
  const size_t own = static_cast<size_t>(index);
  Table &table = tables_[turns_[own] % 2], &last = tables_[++turns_[own] % 2];
  table.shown[own] = value;
  table.kinds[own] = what;
  meet(index, what);
  last.shown[own] = Tensor();
  check_same_meeting(table);
  return table;
}

void ReplicaGroup::meet(int index, const char* what) {
  // Read first: a cancellation from here on is a new generation, one before is seen by check_whole().
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  check_whole();
  const StepProfiler::Scope scope(profiler, index, StepProfiler::Phase::wait);
  std::atomic<const char*>& waiting = waiting_[static_cast<size_t>(index)];
  waiting.store(what);
  if (arrived_.fetch_add(1) + 1 == size()) {
    waiting.store(nullptr);
    arrived_.store(0, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  // Looked at in this order: whoever left before the meeting was complete will not come.
  if (left_.load() > 0 && generation_.load() == generation) {
    const std::string place = what == kOnce ? names_[static_cast<size_t>(index)] : what;
    cancel(replica(last_left_.load()) + " did not come to " + place + ": it had ended its step when " +
           replica(index) + " came" +
           (place == "merge_call()" ? ". Some replicas made a different number of merge_call() calls" : ""));
  }
  for (int spin = 0; spin < spins_ && generation_.load(std::memory_order_acquire) == generation; ++spin)
    spin_pause();
  generation_.wait(generation, std::memory_order_acquire);
  waiting.store(nullptr);
  check_whole();
}

void ReplicaGroup::barrier(int index, std::string_view what, const void* contribution,
                           const std::function<void(Collectives::Contributions)>& once) {
  const size_t own = static_cast<size_t>(index);
  check_whole();
  {
    std::lock_guard lock(mutex_);
    names_[own] = what;
  }
  contributions_[own] = contribution;
  meet_at_table(index, kOnce);
  if (index != 0) return wait_for_the_first(index);
  {
    ThreadContext& context = thread_context();
    const ScopedValue<Collectives*> outside(context.replica, nullptr);
    const ScopedValue<ReplicaContext*> of_all(context.replica_context, nullptr);
    const ScopedValue<Tape*> unrecorded(context.tape, nullptr);
    const ScopedValue<const RunningCall*> outside_of_steps(context.running, nullptr);
    once(contributions_);
  }
  meet(index, kOnce);
}

// Until there is no more job.
void ReplicaGroup::wait_for_the_first(int index) {
  for (;;) {
    meet(index, kOnce);
    if (!job_) return;
    run_job(index);
    meet(index, kOnce);
  }
}

void ReplicaGroup::run_job(int index) {
  try {
    (*job_)(index);
  } catch (...) {
    job_error_.keep();
  }
}

void ReplicaGroup::together(const std::function<void(int)>& body) {
  job_ = &body;
  meet(0, kOnce);
  run_job(0);
  meet(0, kOnce);
  job_ = nullptr;
  job_error_.rethrow();
}

}  // namespace nyala
