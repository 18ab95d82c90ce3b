#include <nyala/api/parallel/parallel_node.h>

#include <map>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

void check_template(const Model& net, const std::string& who) {
  const ModelNode& node = net.model_node();
  const StrategyNode& strategy = *node.strategy();
  if (strategy.num_replicas_in_sync() > 1)
    throw StateError(who + ": model " + in_quotes(net.name()) + " belongs to " + strategy.name() + " with " +
                     std::to_string(strategy.num_replicas_in_sync()) +
                     " replicas, which split its batches already; make it outside of that scope");
  if (node.overrides().train_step || !node.has_call())
    throw InvalidArgumentError(who + ": model " + in_quotes(net.name()) +
                               " has a train_step() of its own, which would compute on one device; use a "
                               "strategy, which runs it on each");
}

}  // namespace

ParallelNode::ParallelNode(const Model& net, std::string class_name, DeviceSlicesOptions options)
    : net_(net), class_name_(std::move(class_name)), slices_(std::move(options)) {
  add_sublayer("model", net);
  set_training(net.model_node().training());
  set_overrides({.compute_loss = net.model_node().overrides().compute_loss});
  for (const Metric& metric : net.model_node().own_metrics()) track_metric(metric);
  if (net.built()) mark_built();
}

void ParallelNode::build(Builder&, const Shapes& inputs) { net_.node().ensure_built(inputs); }

Outputs ParallelNode::computed(Call& c, const Tensors& inputs) const {
  auto work = [this](Call& own, const Tensors& slices) -> Tensors {
    if (takes_many()) return net_.node().invoke(own, Inputs(slices));
    return {net_.node().invoke(own, slices.at(0))};
  };
  if (inputs.empty() || inputs[0].is_abstract()) return work(c, inputs);
  if (c.replica() && c.replica()->num_replicas() > 1)
    throw StateError(
        "the model was called inside a replica of a strategy, which has split the batch already");
  if (net_.model_node().strategy() != strategy())
    throw StateError("model " + in_quotes(net_.name()) + " has moved to " +
                     net_.model_node().strategy()->name() + "; adopt this model instead, or make it anew");
  Outputs outputs = slices_.run(c, inputs, work);
  const ThreadContext& thread = thread_context();
  if (thread.replica_context)  // losses and metrics wait for them there
    for (Tensor& output : outputs) output = ops::seen_from(output, thread.device);
  return outputs;
}

Outputs ParallelNode::call(Call& c, Inputs inputs) const {
  return computed(c, Tensors(inputs.begin(), inputs.end()));
}

Tensor ParallelNode::call(Call& c, const Tensor& input) const { return std::move(computed(c, {input})[0]); }

Tensor ParallelNode::compute_loss(ReplicaStep& step, const Batch& batch, const Tensors& predictions) {
  return net_.model_node().compute_loss(step, batch, predictions);
}

void ParallelNode::compute_metrics(ReplicaStep& step, const Batch& batch, const Tensors& predictions) {
  net_.model_node().compute_metrics(step, batch, predictions);
}

std::vector<std::string> ParallelNode::output_names(size_t num_outputs) const {
  std::vector<std::string> names = net_.model_node().output_names(num_outputs);
  std::map<std::string, int> given, counted;
  for (const std::string& name : names) ++given[name];
  for (std::string& name : names)
    if (given[name] > 1) name += "_" + std::to_string(++counted[name]);
  return names;
}

std::shared_ptr<ModelNode> ParallelNode::template_model() const {
  return std::static_pointer_cast<ModelNode>(net_.shared());
}

std::string ParallelNode::summary_note() const {
  std::string devices;
  for (Device device : slices_.devices()) devices += (devices.empty() ? "" : ", ") + device.to_string();
  const size_t count = slices_.devices().size();
  return " " + class_name_ + ": " + std::to_string(count) + (count == 1 ? " replica" : " replicas") + " on " +
         devices + ", outputs on " + slices_.output_device().to_string() + "\n";
}

Model make_parallel_model(const Model& net, const std::string& class_name,
                          const DeviceSlicesOptions& options) {
  check_template(net, class_name);
  const StrategyScope scope(net.model_node().strategy());
  return Model(std::static_pointer_cast<ModelNode>(
      finish_layer(std::make_shared<ParallelNode>(net, class_name, options),
                   {net.name() + "_parallel", true, net.dtype_policy().name()})));
}

}  // namespace nyala
