// Keras' Progbar (keras/src/utils/progbar.py) to the character: \b over what was written, then the line
// again, padded where the old one was longer. Values are averages weighted by steps; the first step, which
// builds, is left out of the time per step. To a file one line at the end.
#include <nyala/api/utils/progress_bar.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/printable.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr std::string_view kBold = "\x1b[1m", kGreen = "\x1b[32m", kGrey = "\x1b[37m", kPlain = "\x1b[0m";
constexpr std::string_view kCell = "\u2501";

/// At least `width` characters, filled from the left.
std::string padded(const std::string& text, size_t width, char fill = ' ') {
  return text.size() < width ? std::string(width - text.size(), fill) + text : text;
}

std::string colored(std::string_view escape, std::string_view text) {
  return std::string(escape) + std::string(text) + std::string(kPlain);
}

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

/// Columns that `text` fills: code points outside escape sequences.
int64_t visible_width(std::string_view text) {
  int64_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i + 1 < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0u) != 0x80u) {
      ++width;
    }
  }
  return width;
}

/// Large values with four decimals, small ones in scientific notation. The line of verbose = 2 compares
/// the value itself, so negative ones are scientific there, as in Keras.
std::string value_text(double value, bool by_magnitude) {
  if (std::isnan(value)) return "nan";  // printf may add a sign
  return (by_magnitude ? std::abs(value) : value) > 1e-3 ? fixed_text(value, 4) : scientific_text(value, 4);
}

std::string remaining_text(double seconds) {
  const auto whole = [](double value) { return std::to_string(static_cast<long long>(value)); };
  const auto two_digits = [&](double value) { return padded(whole(value), 2, '0'); };
  const std::string rest = two_digits(std::fmod(seconds, 60));
  if (seconds > 3600)
    return whole(seconds / 3600) + ":" + two_digits(std::fmod(seconds, 3600) / 60) + ":" + rest;
  if (seconds > 60) return whole(seconds / 60) + ":" + rest;
  return whole(seconds) + "s";
}

std::string count_text(int64_t current, int64_t target) {
  const std::string total = std::to_string(target);
  return padded(std::to_string(current), total.size()) + "/" + total;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

ProgressBar::ProgressBar(ProgressBarConfig config)
    : config_(std::move(config)), output_(config_.stream ? Output(*config_.stream) : detail::output()) {
  if (config_.stateful_metrics && config_.stateless_metrics)
    throw InvalidArgumentError("ProgressBar: expected stateful_metrics or stateless_metrics, received both");
  if (config_.verbose < 0 || config_.verbose > 2)
    throw InvalidArgumentError("ProgressBar: expected verbose 0, 1 or 2, received " +
                               std::to_string(config_.verbose));
  if (config_.width < 0)
    throw InvalidArgumentError("ProgressBar: expected a width of at least 0, received " +
                               std::to_string(config_.width));
  dynamic_ = config_.display == ProgressDisplay::dynamic ||
             (config_.display == ProgressDisplay::automatic && output_.is_terminal());
  start_ = now();
}

/// Another one may have been set since: a file gets no carriage returns.
void ProgressBar::look_at_output() {
  if (config_.stream || output_ == detail::output()) return;
  output_ = detail::output();
  dynamic_ = config_.display == ProgressDisplay::dynamic ||
             (config_.display == ProgressDisplay::automatic && output_.is_terminal());
}

void ProgressBar::write(const std::string& text) const {
  if (config_.stream)
    output_.write(text);
  else
    detail::print(text);
}

double ProgressBar::now() const {
  if (config_.clock) return config_.clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool ProgressBar::is_averaged(const std::string& name) const {
  if (config_.stateless_metrics) return contains(*config_.stateless_metrics, name);
  return !config_.stateful_metrics || !contains(*config_.stateful_metrics, name);
}

void ProgressBar::take_value(const Value& value, int64_t current, bool finalize) {
  const auto [place, is_new] = places_.emplace(value.first, values_.size());
  if (is_new) values_.push_back({value.first});
  Average& average = values_[place->second];
  if (finalize || !is_averaged(value.first)) {
    average.sum = value.second;
    average.count = 1;
    return;
  }
  const double steps = static_cast<double>(std::max<int64_t>(current - seen_so_far_, 1));
  average.sum += value.second * steps;
  average.count += steps;
}

/// The first step (building, warming up) is left out of the estimate as soon as there are others.
double ProgressBar::step_duration(int64_t current, double now) {
  if (current == 0) return 0;
  const double duration = time_after_first_step_ && current > 1
                              ? (now - *time_after_first_step_) / static_cast<double>(current - 1)
                              : (now - start_) / static_cast<double>(current);
  if (current == 1) time_after_first_step_ = now;
  return duration;
}

std::string ProgressBar::bar_text(int64_t current) const {
  if (config_.target <= 0) return padded(std::to_string(current), 7) + "/Unknown";
  const double part = static_cast<double>(current) / static_cast<double>(config_.target);
  const int done = static_cast<int>(config_.width * part);
  std::string out = colored(kBold, count_text(current, config_.target)) + " ";
  if (done > 0) out += colored(kGreen, repeated(kCell, done));
  return out + colored(kGrey, repeated(kCell, config_.width - done));
}

std::string ProgressBar::time_text(double seconds) const {
  const std::string per = "/" + printable(config_.unit_name);
  if (seconds >= 1 || seconds == 0) return " " + fixed_text(seconds, 0) + "s" + per;
  if (seconds >= 1e-3) return " " + fixed_text(seconds * 1000.0, 0) + "ms" + per;
  return " " + fixed_text(seconds * 1000000.0, 0) + "us" + per;
}

void ProgressBar::draw_dynamic(int64_t current, double now, bool finalize) {
  const bool shows_remaining = config_.target > 0 && !finalize;
  const double left = time_per_step_ * static_cast<double>(config_.target - current);
  std::string text = bar_text(current) + " ";
  text += colored(kBold, shows_remaining ? remaining_text(left) : fixed_text(now - start_, 0) + "s");
  text += time_text(time_per_step_);
  for (const Average& value : values_)
    text += " - " + printable(value.name) + ": " + value_text(value.sum / std::max(1.0, value.count), true);
  const int64_t width = visible_width(text);
  const std::string erased = std::string(static_cast<size_t>(previous_width_), '\b') + "\r";
  const std::string padding(static_cast<size_t>(std::max<int64_t>(0, previous_width_ - width)), ' ');
  previous_width_ = width;
  write(erased + text + padding + (finalize ? "\n" : ""));
}

void ProgressBar::draw_line(int64_t current, double now) {
  std::string text = count_text(current, config_.target) + " - " + fixed_text(now - start_, 0) + "s";
  text += " -" + time_text(time_per_step_);
  for (const Average& value : values_)
    text += " - " + printable(value.name) + ": " + value_text(value.sum / std::max(1.0, value.count), false);
  write(text + "\n");
}

bool ProgressBar::is_due() {
  look_at_output();
  if (config_.verbose != 1 || !dynamic_) return false;
  return !last_update_ || now() - *last_update_ >= config_.interval;
}

void ProgressBar::update(int64_t current, std::span<const Value> values, std::optional<bool> finalize) {
  look_at_output();
  const bool last = finalize.value_or(config_.target >= 0 && current >= config_.target);
  for (const Value& value : values) take_value(value, current, last);
  seen_so_far_ = current;
  const double time = now();
  time_per_step_ = step_duration(current, time);
  if (config_.verbose == 1 && dynamic_) {
    if (!last && last_update_ && time - *last_update_ < config_.interval) return;
    draw_dynamic(current, time, last);
  } else if (config_.verbose > 0 && last && config_.target > 0) {
    draw_line(current, time);
  }
  last_update_ = time;
}

}  // namespace nyala
