// Each replica's time inside a step minus what was charged to reducing and waiting is what it computed; from
// its end to that of the slowest counts as waiting. Measured by scopes that cost one relaxed load while
// nobody asks.
#include <nyala/strategies/replicas/step_profiler.h>

#include <algorithm>
#include <utility>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/log.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Clock = std::chrono::steady_clock;

/// A few first steps make kernels and memory: a verdict needs more than those.
constexpr int64_t kStepsBeforeWarning = 10;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void add(StepTimes& sum, const StepTimes& step) {
  sum.steps += step.steps;
  sum.compute += step.compute;
  sum.reduce += step.reduce;
  sum.wait += step.wait;
  sum.update += step.update;
  sum.input += step.input;
}

std::string warning_of(const StepTimes& mean, int replicas) {
  return "bringing " + std::to_string(replicas) +
         " replicas together (reduce and wait) takes longer than their computation (" + mean.to_string() +
         "): more devices cannot pay; try a larger batch or fewer devices";
}

}  // namespace

std::string StepTimes::to_string() const {
  const auto ms = [](double seconds) { return " " + general_text(seconds * 1e3, 3) + " ms"; };
  return "compute" + ms(compute) + ", reduce" + ms(reduce) + ", wait" + ms(wait) + ", update" + ms(update) +
         ", input" + ms(input);
}

void StepProfiler::set_enabled(bool enabled) {
  const std::lock_guard lock(mutex_);
  if (enabled) {
    sums_ = {};
    warned_ = false;
    last_end_ = {};
  }
  enabled_.store(enabled, std::memory_order_relaxed);
}

StepTimes StepProfiler::times() const {
  const std::lock_guard lock(mutex_);
  StepTimes mean = sums_;
  if (mean.steps == 0) return mean;
  const double steps = static_cast<double>(mean.steps);
  for (double* part : {&mean.compute, &mean.reduce, &mean.wait, &mean.update, &mean.input}) *part /= steps;
  return mean;
}

std::string StepProfiler::summary() const {
  const StepTimes mean = times();
  if (mean.steps == 0) return "";
  std::string text = "; per step, mean of " + std::to_string(mean.steps) + ": " + mean.to_string();
  if (replicas_ > 1 && mean.communication_bound()) text += "; WARNING: " + warning_of(mean, replicas_);
  return text;
}

void StepProfiler::begin_run(int replicas) {
  measured_run_ = false;
  update_begin_ = {};
  if (!enabled()) return;
  replicas_ = replicas;
  lanes_.assign(static_cast<size_t>(replicas), {});
  step_ = {};
  step_.steps = 1;
  if (last_end_ != Time()) step_.input = seconds_since(last_end_);
  run_begin_ = Clock::now();
  running_.store(true, std::memory_order_release);
}

void StepProfiler::charge(int replica, Phase phase, Time begin) {
  Lane& lane = lanes_[static_cast<size_t>(replica)];
  (phase == Phase::reduce ? lane.reduce : lane.wait) += seconds_since(begin);
}

void StepProfiler::end_replica(int replica) {
  if (running_.load(std::memory_order_relaxed))
    lanes_[static_cast<size_t>(replica)].total = seconds_since(run_begin_);
}

void StepProfiler::end_run() {
  if (!running_.exchange(false)) return;
  const double wall = seconds_since(run_begin_);
  for (const Lane& lane : lanes_) {
    step_.reduce += lane.reduce;
    step_.wait += lane.wait + (wall - lane.total);
    step_.compute += lane.total - lane.reduce - lane.wait;
  }
  const double replicas = static_cast<double>(lanes_.size());
  for (double* part : {&step_.compute, &step_.reduce, &step_.wait}) *part /= replicas;
  measured_run_ = true;
}

void StepProfiler::begin_update() {
  if (measured_run_) update_begin_ = Clock::now();
}

void StepProfiler::end_update() {
  if (!std::exchange(measured_run_, false)) return;
  if (update_begin_ != Time()) step_.update = seconds_since(update_begin_);
  last_end_ = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    add(sums_, step_);
  }
  if (on_step) on_step(step_);
  if (replicas_ > 1) warn_once(times());
}

void StepProfiler::warn_once(const StepTimes& mean) {
  if (warned_ || mean.steps < kStepsBeforeWarning || !mean.communication_bound()) return;
  warned_ = true;
  log(LogChannel::warning, warning_of(mean, replicas_));
}

}  // namespace nyala
