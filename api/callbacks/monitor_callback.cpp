#include <cmath>

#include <nyala/api/callbacks/monitor_callback.h>
#include <nyala/api/model/model.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The direction of the compiled metric called `name`, if there is one that has a direction.
std::optional<bool> direction_of(const Model& model, const std::string& name) {
  if (!model.compiled()) return {};
  for (const CompiledMetric& compiled : model.model_node().compiled_training().metrics)
    if (compiled.name == name && !compiled.metric.is_pending() && compiled.metric.node().has_direction())
      return compiled.metric.node().larger_is_better();
  return {};
}

/// The name of the logs that is nearest to `wanted`, then all.
std::string available(const Logs& logs, const std::string& wanted) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& value : logs) {
    names.push_back(value.first);
    list += (list.empty() ? "" : ",") + value.first;
  }
  return did_you_mean(wanted, names) + ". Available metrics are: " + list;
}

}  // namespace

MonitorCallback::MonitorCallback(std::string class_name, std::string monitor, std::string mode,
                                 double min_delta)
    : class_name_(std::move(class_name)),
      monitor_(std::move(monitor)),
      mode_(std::move(mode)),
      min_delta_(std::abs(min_delta)) {
  if (mode_ == "auto" || mode_ == "min" || mode_ == "max") return;
  log(LogChannel::warning, class_name_ + " mode " + in_quotes(mode_) + " is unknown, fallback to auto mode.");
  mode_ = "auto";
}

void MonitorCallback::find_direction(const Logs& logs) {
  if (larger_is_better_) return;
  if (mode_ != "auto") {
    larger_is_better_ = mode_ == "max";
    return;
  }
  const std::string metric = monitor_.starts_with("val_") ? monitor_.substr(4) : monitor_;
  if (metric == "loss")
    larger_is_better_ = false;
  else
    larger_is_better_ = direction_of(model(), metric);
  if (!larger_is_better_ && !logs.contains(monitor_))
    throw InvalidArgumentError(class_name_ + ": the logs have no " + in_quotes(monitor_) +
                               available(logs, monitor_));
  if (!larger_is_better_)
    throw InvalidArgumentError(
        class_name_ + " callback received monitor=" + in_quotes(monitor_) +
        ", but it is not known whether that metric should become larger or smaller; give "
        "mode=\"max\" or mode=\"min\"");
}

bool MonitorCallback::is_improvement(double value, std::optional<double> reference) const {
  if (!reference) return true;
  return *larger_is_better_ ? value - min_delta_ > *reference : value + min_delta_ < *reference;
}

std::optional<double> MonitorCallback::monitored(const Logs& logs, const std::string& complaint) const {
  if (!logs.contains(monitor_)) {
    log(LogChannel::warning,
        complaint + " `" + monitor_ + "` which is not available" + available(logs, monitor_));
    return {};
  }
  const std::vector<double> values = logs.values(monitor_);
  if (values.size() != 1)
    throw InvalidArgumentError(class_name_ + ": " + in_quotes(monitor_) + " has " +
                               std::to_string(values.size()) +
                               " values, one for each class or threshold; monitor a metric that has one");
  return values[0];
}

}  // namespace nyala
