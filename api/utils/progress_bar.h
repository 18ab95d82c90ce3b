#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nyala/api/base/output.h>

namespace nyala {

/// How a bar with verbose = 1 appears: on a terminal one line that overwrites itself, elsewhere one plain
/// line when the bar is finished (the format of verbose = 2; a log file gets no control characters).
enum class ProgressDisplay { automatic, dynamic, plain };

/// keras.utils.Progbar's settings, then the display, stream and clock.
struct ProgressBarConfig {
  int64_t target = -1;     // number of steps; -1: not known
  int width = 20;          // cells of the bar
  int verbose = 1;         // 0 silent, 1 bar, 2 one line at the end
  double interval = 0.05;  // seconds between two redraws
  /// Values named here are shown as they are, others averaged over the steps. Not with stateless_metrics.
  std::optional<std::vector<std::string>> stateful_metrics = {};
  /// Values named here are averaged over the steps, others shown as they are.
  std::optional<std::vector<std::string>> stateless_metrics = {};
  std::string unit_name = "step";
  /// automatic: dynamic where it appears on a terminal.
  ProgressDisplay display = ProgressDisplay::automatic;
  std::ostream* stream = nullptr;           // null: the output that is set (output.h). Must outlive the bar.
  std::function<double()> clock = nullptr;  // seconds; empty: a monotonic clock
};

/// Keras 3.15's progress bar, byte for byte on a terminal. One thread at a time.
class ProgressBar {
 public:
  using Value = std::pair<std::string, double>;

  /// Starts the clock. Throws InvalidArgumentError for both kinds of metric lists, for verbose outside
  /// 0..2 or a negative width.
  explicit ProgressBar(ProgressBarConfig config);

  /// Shows step `current` (counted from 1). Values appear in the order in which their names first came.
  /// `finalize`: the last update; by default when `current` reaches the target.
  void update(int64_t current, std::span<const Value> values = {}, std::optional<bool> finalize = {});
  void update(int64_t current, std::initializer_list<Value> values, std::optional<bool> finalize = {}) {
    update(current, std::span<const Value>(values.begin(), values.size()), finalize);
  }

  /// update() for `count` steps more.
  void add(int64_t count, std::span<const Value> values = {}) { update(seen_so_far_ + count, values); }

  /// True when an update now would draw. Values that are shown as they are need not be fetched otherwise.
  bool is_due();

  /// The number of steps, once it is known.
  void set_target(int64_t target) { config_.target = target; }
  int64_t target() const { return config_.target; }

 private:
  struct Average {
    std::string name;
    double sum = 0;
    double count = 0;
  };

  void look_at_output();
  void write(const std::string& text) const;
  double now() const;
  bool is_averaged(const std::string& name) const;
  void take_value(const Value& value, int64_t current, bool finalize);
  double step_duration(int64_t current, double now);
  std::string bar_text(int64_t current) const;
  std::string time_text(double seconds) const;
  void draw_dynamic(int64_t current, double now, bool finalize);
  void draw_line(int64_t current, double now);

  ProgressBarConfig config_;
  Output output_;
  bool dynamic_ = false;
  std::vector<Average> values_;
  std::map<std::string, size_t> places_;  // of names among the values
  int64_t seen_so_far_ = 0;
  double start_ = 0;
  std::optional<double> last_update_;
  std::optional<double> time_after_first_step_;
  double time_per_step_ = 0;
  int64_t previous_width_ = 0;
};

}  // namespace nyala
