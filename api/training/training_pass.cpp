#include <nyala/api/training/training_pass.h>

#include <nyala/api/training/added_loss.h>
#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/replica_context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

int local_index() { return thread_context().replica ? thread_context().replica->local_index() : 0; }

TrainingPassConfig place_of(const DistributedBatch& batch, int64_t step) {
  TrainingPassConfig config{.global_rows = batch.rows, .first_row = batch.first_row, .step = step};
  for (int before = 0; before < local_index(); ++before)
    config.first_row += batch.parts.at(static_cast<size_t>(before)).x.at(0).shape()[0];
  return config;
}

int64_t own_rows(const DistributedBatch& batch) {
  return batch.parts.at(static_cast<size_t>(local_index())).x.at(0).shape()[0];
}

}  // namespace

TrainingPass::TrainingPass(int64_t rows, Config config)
    : step_(Tensor::scalar(config.step == kOwnStep ? thread_context().step : config.step)
                .to(thread_context().device)) {
  call_.restart({.training = true,
                 .tape = thread_context().tape,
                 .replica = thread_context().replica,
                 .local_index = local_index(),
                 .first_row = config.first_row,
                 .rows = rows,
                 .global_rows = config.global_rows > 0 ? config.global_rows : rows,
                 .step = step_});
}

TrainingPass::TrainingPass(const DistributedBatch& batch, int64_t step)
    : TrainingPass(own_rows(batch), place_of(batch, step)) {}

Call& TrainingPass::call() {
  call_.set_tape(thread_context().tape);
  return call_;
}

Tensor TrainingPass::operator()(const Layer& layer, const Tensor& x) { return layer(call(), x); }

Outputs TrainingPass::operator()(const Layer& layer, const Tensors& inputs) {
  return layer(call(), Inputs(inputs));
}

Tensor TrainingPass::losses(const Layer& layer) {
  Tensor total;
  const auto add = [&total](const Tensor& loss) { total = total.defined() ? ops::add(total, loss) : loss; };
  for (const RegularizedWeight& weight : regularized_weights(layer.node()))
    if (weight.variable.trainable()) add(weight.regularizer(call()[weight.variable]));
  for (const Tensor& loss : call_.losses()) add(added_loss(call_, loss));
  if (!total.defined()) return Tensor::zeros({}, layer.node().dtype(), thread_context().device);
  const int64_t rows = call_.options().rows, all = call_.options().global_rows;
  return total * (all > 0 ? static_cast<double>(rows) / static_cast<double>(all) : 0.0);
}

void TrainingPass::finish() {
  for (const auto& [variable, value] : call_.assignments()) variable.assign(value);
}

}  // namespace nyala
