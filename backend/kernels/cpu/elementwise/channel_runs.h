#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <nyala/backend/kernels/cpu/elementwise/periodic_loops.h>
#include <nyala/backend/runtime/parallel.h>

namespace nyala {

/// How rows of channels are cut into runs for PeriodicLoops: by the shape alone, so that sums by run have the
/// same bits with any number of threads.
class ChannelRuns {
 public:
  /// `count` floats in rows of `channels`.
  ChannelRuns(int64_t count, int64_t channels)
      : count_(count), channels_(channels), period_(period_of(channels)) {
    const int64_t wanted = kRun > 16 * period_ ? kRun : 16 * period_;
    run_ = period_ > 0 ? wanted / period_ * period_ : 1;
  }

  /// False where the period of these channels would be too long.
  bool possible() const { return period_ > 0; }
  int64_t channels() const { return channels_; }
  int64_t period() const { return period_; }
  /// Rows in every piece but the last.
  int64_t run_rows() const { return run_ / channels_; }
  int64_t pieces() const { return (count_ + run_ - 1) / run_; }

  /// Calls body(piece, first float, Run) for every piece, on the team.
  template <class Body>
  void for_each(Body&& body) const {
    parallel_for(pieces(), 1, [&](int64_t piece, int64_t) {
      const int64_t first = piece * run_;
      body(piece, first, PeriodicLoops::Run{first + run_ <= count_ ? run_ : count_ - first, period_});
    });
  }

  /// Repeats one value per channel over a period; of(channel) yields it.
  template <class Of>
  void expand(float* values, Of&& of) const {
    for (int64_t c = 0; c < channels_; ++c) {
      const float value = static_cast<float>(of(c));
      for (int64_t i = c; i < period_; i += channels_) values[i] = value;
    }
  }

  /// The total of channel `c` over the sums of one piece.
  double fold(const float* sums, int64_t c) const {
    double total = 0.0;
    for (int64_t i = c; i < period_; i += channels_) total += static_cast<double>(sums[i]);
    return total;
  }

 private:
  static constexpr int64_t kRun = 16384;

  static int64_t period_of(int64_t channels) {
    if (channels < 1 || channels > PeriodicLoops::kMaxPeriod) return 0;
    const int64_t least = std::lcm(channels, int64_t{16});
    const int64_t period = least == 16 || least == 32 ? 64 : least;
    return period > PeriodicLoops::kMaxPeriod ? 0 : period;
  }

  int64_t count_, channels_, period_, run_;
};

/// Parts of a run, of whole periods, that are widened at a time (wide_runs.h); the run itself where `wide` is
/// false. Calls body(offset, part); buffers are kMaxPeriod floats.
template <class Body>
void for_each_part(bool wide, PeriodicLoops::Run run, Body&& body) {
  constexpr int64_t kPart = 1024;  // what is widened and the floats behind it stay in the first-level cache
  const int64_t step = wide ? std::max(int64_t{1}, kPart / run.period) * run.period : run.count;
  for (int64_t offset = 0; offset < run.count; offset += step)
    body(offset, PeriodicLoops::Run{std::min(step, run.count - offset), run.period});
}

/// Adds up `kSums` times a period of sums over the parts of a run; loop(offset, part, sums) sets those of
/// one.
template <int kSums, class Loop>
void sum_parts(bool wide, PeriodicLoops::Run run, float* sums, Loop&& loop) {
  for_each_part(wide, run, [&](int64_t offset, PeriodicLoops::Run part) {
    if (offset == 0) return loop(offset, part, sums);
    float more[kSums * PeriodicLoops::kMaxPeriod];
    loop(offset, part, more);
    for (int64_t i = 0; i < kSums * run.period; ++i) sums[i] += more[i];
  });
}

}  // namespace nyala
