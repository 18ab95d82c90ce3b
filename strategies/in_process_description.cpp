
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/in_process.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::string weights_of(const ParameterStore& store) {
  if (store.parameter_device()) return "one copy on " + store.parameter_device()->to_string();
  return store.shares_weights() ? "shared" : "mirrored";
}

std::string split_of(const std::vector<double>& weights) {
  if (weights.empty()) return "rows split evenly";
  std::string text;
  for (double weight : weights) text += (text.empty() ? "" : " : ") + general_text(weight, 6);
  return "rows split " + text;
}

}  // namespace

std::string InProcessStrategy::describe() const {
  std::string text = options_.name + ": " + std::to_string(num_replicas_in_sync()) +
                     (num_replicas_in_sync() > 1 ? " replicas" : " replica") +
                     (processes_ ? ", " + std::to_string(num_local_replicas()) + " here" : "") + " on ";
  for (size_t i = 0; i < options_.devices.size(); ++i)
    text += (i > 0 ? ", " : "") + options_.devices[i].to_string();
  text += "; weights " + weights_of(*store_);
  if (num_replicas_in_sync() > 1) {
    text += "; gradients summed by " + buckets_.ops().name() + " in buckets of at least " +
            std::to_string(options_.bucket_elements) + " elements while backward runs";
    if (buckets_.num_buckets() > 0) text += " (" + std::to_string(buckets_.num_buckets()) + " buckets now)";
    text += "; " + split_of(options_.device_weights);
  }
  if (processes_)
    text += "; process " + std::to_string(processes_->rank()) + " of " + std::to_string(processes_->size()) +
            ", by " + options_.processes.steps->describe();
  if (processes_ && options_.wire_dtype != DType::float32)
    text += "; gradients travel as " + std::string(name_of(options_.wire_dtype));
  if (generations_)
    text += "; generation " + std::to_string(generations_->number()) + " of " + generations_->describe();
  if (generations_ && !generations_->kept.empty()) text += "; " + generations_->kept;
  if (options_.parameter_servers) text += "; " + options_.parameter_servers->describe();
  return text + profiler_.summary();
}

}  // namespace nyala
