// What compile() was given meets the first batch: losses and metrics find their outputs by name or place, and
// each gets its range in the sums of an epoch. Rules of names and counts: Keras' CompileLoss and
// CompileMetrics (keras/src/trainers/compile_utils.py).
#include <nyala/api/training/resolve.h>

#include <map>
#include <set>

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The entry of `values` for output `index`, or null.
template <class T>
const T* entry_for(const PerOutput<T>& values, size_t index, const std::string& name) {
  if (const auto found = values.named().find(name); found != values.named().end()) return &found->second;
  return index < values.list().size() ? &values.list()[index] : nullptr;
}

template <class T>
void check_names(const std::map<std::string, T>& named, const std::vector<std::string>& outputs,
                 const char* what) {
  for (const auto& [name, value] : named)
    if (std::find(outputs.begin(), outputs.end(), name) == outputs.end())
      throw InvalidArgumentError(std::string(what) + " for " + in_quotes(name) +
                                 ", but the model has no output of that name" + did_you_mean(name, outputs) +
                                 "; there are " + quoted_list(outputs));
}

/// As in Keras: what is not to be trained has to be said.
void check_complete(const std::map<std::string, Loss>& named, const std::vector<std::string>& outputs) {
  for (const std::string& output : outputs)
    if (!named.empty() && !named.contains(output))
      throw InvalidArgumentError("compile: losses are given by name, but none for output " +
                                 in_quotes(output) +
                                 "; give it one, or Loss() where it has none (Keras' None)");
}

void check_count(size_t given, size_t outputs, const char* what) {
  if (given > outputs)
    throw InvalidArgumentError("compile: expected at most " + std::to_string(outputs) + " " + what +
                               ", one per output, received " + std::to_string(given));
}

class MetricList {
 public:
  MetricList(CompiledTraining& compiled, const Tensors& targets, const Tensors& predictions)
      : compiled_(compiled), targets_(targets), predictions_(predictions) {
    for (const CompiledMetric& metric : compiled.metrics) names_.insert(metric.name);
  }

  void add(const Metric& metric, size_t output, bool weighted) {
    if (output >= targets_.size())
      throw InvalidArgumentError("metric " + in_quotes(metric.name()) + " needs a target for output " +
                                 in_quotes(compiled_.outputs[output].name) + ", the data has none");
    CompiledMetric entry;
    entry.metric = metric.resolved(targets_[output].shape(), predictions_[output].shape());
    entry.output = output;
    entry.weighted = weighted;
    const std::string place = compiled_.outputs.size() > 1 ? compiled_.outputs[output].name + "_" : "";
    std::string name = place + metric.name();
    if (weighted && names_.contains(name)) name = place + "weighted_" + metric.name();
    entry.name = name;
    for (int& last = last_numbers_[name]; !names_.insert(entry.name).second;)
      entry.name = name + "_" + std::to_string(++last);
    entry.first_sum = compiled_.num_sums;
    compiled_.num_sums += entry.metric.node().state_size();
    compiled_.metrics.push_back(std::move(entry));
  }

  void add_named(const std::map<std::string, std::vector<Metric>>& by_output,
                 const std::vector<std::string>& names, bool weighted) {
    check_names(by_output, names, "metrics are given");
    for (const auto& [name, metrics] : by_output)
      for (const Metric& metric : metrics)
        add(metric, static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin()),
            weighted);
  }

  /// Keras: a flat list is the only output's, or has one entry per output.
  void add_all(const PerOutput<Metric>& metrics, bool weighted) {
    const size_t outputs = compiled_.outputs.size();
    if (outputs > 1) check_count(metrics.list().size(), outputs, "metrics");
    for (size_t i = 0; i < metrics.list().size(); ++i) add(metrics.list()[i], outputs > 1 ? i : 0, weighted);
    for (size_t output = 0; output < outputs; ++output)
      if (const auto found = metrics.named().find(compiled_.outputs[output].name);
          found != metrics.named().end())
        add(found->second, output, weighted);
  }

 private:
  CompiledTraining& compiled_;
  const Tensors& targets_;
  const Tensors& predictions_;
  std::set<std::string> names_;
  std::map<std::string, int> last_numbers_;  // of names that several metrics have: what was tried so far
};

void resolve_losses(CompiledTraining& compiled, const std::vector<std::string>& names, size_t num_targets,
                    const ModelNode& model) {
  const CompileConfig& config = compiled.config;
  check_names(config.loss.named(), names, "a loss is given");
  check_names(config.loss_weights.named(), names, "a loss weight is given");
  check_count(config.loss.list().size(), names.size(), "losses");
  check_count(config.loss_weights.list().size(), names.size(), "loss weights");
  check_complete(config.loss.named(), names);
  const bool one_for_all = config.loss.list().size() == 1 && names.size() > 1;
  bool any = false;
  for (size_t i = 0; i < names.size(); ++i) {
    CompiledOutput output{names[i], {}, 1.0};
    if (const Loss* loss = entry_for(config.loss, one_for_all ? 0 : i, names[i])) output.loss = *loss;
    if (const double* weight = entry_for(config.loss_weights, i, names[i])) output.weight = *weight;
    if (output.loss && i >= num_targets)
      throw InvalidArgumentError("output " + in_quotes(names[i]) + " has a loss, but the data has " +
                                 std::to_string(num_targets) + " target(s); pass one y per output");
    any = any || output.loss;
    compiled.outputs.push_back(std::move(output));
  }
  if (!any && !model.overrides().compute_loss && !model.overrides().train_step)
    throw InvalidArgumentError("no loss to compute: pass a loss to compile()" + why_no_loss(model));
}

}  // namespace

std::string why_no_loss(const ModelNode& model) {
  return model.no_loss_because().empty() ? "" : " (" + model.no_loss_because() + ")";
}

void resolve_outputs(CompiledTraining& compiled, const ModelNode& model, const Tensors& targets,
                     const Tensors& predictions) {
  CompiledTraining fresh;  // nothing is half done if something throws
  fresh.config = compiled.config;
  const std::vector<std::string> names = model.output_names(predictions.size());
  resolve_losses(fresh, names, targets.size(), model);
  size_t losses = 0;
  for (const CompiledOutput& output : fresh.outputs) losses += output.loss ? 1 : 0;
  fresh.num_sums = 1 + (losses > 1 ? static_cast<int64_t>(fresh.outputs.size()) : 0);
  MetricList list(fresh, targets, predictions);
  list.add_all(fresh.config.metrics, false);
  list.add_named(fresh.config.metrics_by_output, names, false);
  list.add_all(fresh.config.weighted_metrics, true);
  list.add_named(fresh.config.weighted_metrics_by_output, names, true);
  compiled.outputs = std::move(fresh.outputs);
  compiled.metrics = std::move(fresh.metrics);
  compiled.num_sums = fresh.num_sums;
  compiled.several_losses = losses > 1;
  compiled.resolved = true;
}

}  // namespace nyala
