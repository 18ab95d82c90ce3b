// Inputs are cut into consecutive pieces, one per device; each slice has its own Call, tape and thread and
// sees the others as replicas see each other. Outputs are joined, losses and metrics count by the share of
// rows, and what slices write to a variable becomes one write by its aggregation: they all read the same old
// value, so that of a sum it is taken off all but once.
#include <nyala/api/parallel/slice_session.h>

#include <nyala/api/layers/base/mask.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Elements of one axis, untracked and without masks.
Tensor cut(const Tensor& tensor, int axis, RowRange range) {
  const Tensor plain = tensor.detached();
  if (axis == 0) return plain.rows(range.first, range.count);
  return ops::slice_axis(plain, axis, {range.first, range.first + range.count});
}

/// Untracked. Empty parts are left out: they may come from a device that saw no rows.
Tensor joined(const Tensors& parts, int axis, Device where) {
  const auto here = device(where);
  Tensors filled;
  for (const Tensor& part : parts)
    if (part.num_elements() > 0) filled.push_back(ops::seen_from(part.detached(), where));
  if (filled.empty()) return ops::seen_from(parts[0].detached(), where);
  return filled.size() == 1 ? filled[0] : ops::concatenate(filled, axis);
}

void add_to(Tensor& sum, const Tensor& value) { sum = sum.defined() ? ops::add(sum, value) : value; }

void check_cut(const Tensors& inputs, int axis) {
  for (const Tensor& input : inputs) {
    if (axis >= input.rank())
      throw ShapeError("an input of shape " + input.shape().to_string() + " has no axis " +
                       std::to_string(axis) + " to be cut along");
    if (input.shape()[axis] != inputs[0].shape()[axis])
      throw ShapeError("inputs of " + std::to_string(inputs[0].shape()[axis]) + " and " +
                       std::to_string(input.shape()[axis]) + " elements along axis " + std::to_string(axis) +
                       " cannot be cut together");
  }
}

}  // namespace

SliceSession::SliceSession(std::shared_ptr<SliceMachine> machine, const Tensors& inputs)
    : machine_(std::move(machine)), parts_(static_cast<size_t>(machine_->size())), inputs_(inputs) {
  check_cut(inputs_, machine_->options.axis);
  total_ = inputs_[0].shape()[machine_->options.axis];
  const std::vector<double> equal(parts_.size(), 1.0);
  const std::vector<RowRange> ranges = split_rows(equal, total_);
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i].range = ranges[i];
}

double SliceSession::share(const Part& part) const {
  return total_ > 0 ? static_cast<double>(part.range.count) / static_cast<double>(total_) : 0.0;
}

Tensors SliceSession::cut_inputs(const Part& part, Device here) const {
  Tensors slices;
  const int axis = machine_->options.axis;
  for (const Tensor& input : inputs_) {
    Tensor slice = ops::seen_from(cut(input, axis, part.range), here);
    if (part.tape && input.tape()) slice = part.tape->track(slice);
    if (const Tensor mask = mask_of(input); mask.defined())
      slice = with_mask(slice, ops::seen_from(cut(mask, axis, part.range), here));
    slices.push_back(std::move(slice));
  }
  return slices;
}

/// Along another axis than that of the rows every slice has all of them.
CallOptions SliceSession::options_of(int i, const Call& outer) const {
  const Part& part = parts_[static_cast<size_t>(i)];
  CallOptions call = outer.options();
  call.tape = part.tape.get();
  call.replica = machine_->replica(i);
  if (machine_->options.axis == 0) {
    call.first_row += part.range.first;
    call.rows = part.range.count;
    call.global_rows = total_;
  }
  if (call.step.defined())
    call.step = ops::seen_from(call.step, machine_->options.devices[static_cast<size_t>(i)]);
  return call;
}

void SliceSession::forward_part(int i, const Call& outer, const DeviceSlices::Work& work) {
  Part& part = parts_[static_cast<size_t>(i)];
  part.inputs = cut_inputs(part, machine_->options.devices[static_cast<size_t>(i)]);
  Call own(options_of(i, outer));
  own.set_draws(outer.draws());
  const ScopedValue<Tape*> recording(thread_context().tape, part.tape.get());
  const RunningCall slice{.call = &own};
  const ScopedValue<const RunningCall*> running(thread_context().running, &slice);
  part.outputs = work(own, part.inputs);
  part.losses = own.losses();
  part.assignments = own.assignments();
  part.metrics = own.metrics();
  part.draws = own.draws();
}

void SliceSession::forward(const Call& outer, const DeviceSlices::Work& work, bool records) {
  if (records)
    for (Part& part : parts_) {
      part.tape = std::make_shared<Tape>();
      part.tape->recorders = 1;  // for GradientTapes inside: this tape goes on without them
    }
  machine_->on_all([&](int i) { forward_part(i, outer, work); });
  for (const Part& part : parts_)
    if (part.outputs.size() != parts_[0].outputs.size() || part.losses.size() != parts_[0].losses.size() ||
        part.assignments.size() != parts_[0].assignments.size() ||
        part.metrics.size() != parts_[0].metrics.size())
      throw StateError("slices of one batch gave different numbers of outputs, losses, metrics or writes");
}

Tensors SliceSession::whole_outputs() const {
  const DeviceSlicesOptions& options = machine_->options;
  Tensors whole;
  for (size_t k = 0; k < parts_[0].outputs.size(); ++k) {
    Tensors pieces, masks;
    for (const Part& part : parts_) {
      pieces.push_back(part.outputs[k]);
      if (pieces.back().rank() <= options.axis)
        throw ShapeError("output " + std::to_string(k) + " of shape " + pieces.back().shape().to_string() +
                         " has no axis " + std::to_string(options.axis) +
                         " along which slices could be joined");
      if (const Tensor mask = mask_of(pieces.back()); mask.defined()) masks.push_back(mask);
    }
    Tensor output = joined(pieces, options.axis, options.output_device);
    if (masks.size() == pieces.size())
      output = with_mask(output, joined(masks, options.axis, options.output_device));
    whole.push_back(std::move(output));
  }
  return whole;
}

Tensors SliceSession::whole_losses(Device home) const {
  const auto here = device(home);
  Tensors whole(parts_[0].losses.size());
  for (size_t k = 0; k < whole.size(); ++k)
    for (const Part& part : parts_)
      add_to(whole[k], ops::seen_from(part.losses[k].detached(), home) * share(part));
  return whole;
}

/// A number per slice counts by its share; others stand one behind the other.
Tensor SliceSession::whole_metric(size_t k) const {
  const Device home = inputs_[0].device();
  const auto here = device(home);
  Tensors pieces;
  Tensor sum;
  for (const Part& part : parts_) {
    const Tensor own = ops::seen_from(part.metrics[k].second.detached(), home);
    pieces.push_back(own.with_shape({own.num_elements()}));
    if (own.rank() == 0) add_to(sum, ops::cast(own, DType::float32) * share(part));
  }
  return sum.defined() ? sum : joined(pieces, 0, home);
}

/// What the slices write to one variable, joined as a strategy joins what replicas write. They have all read
/// the same old value, where replicas have a part each.
Tensor SliceSession::whole_write(size_t k) const {
  const auto& [variable, first] = parts_[0].assignments[k];
  const Device home = variable.value().device();
  const auto here = device(home);
  if (variable.aggregation() == Aggregation::only_first_replica || parts_.size() == 1)
    return ops::seen_from(first.detached(), home);
  Tensors values;
  for (const Part& part : parts_)
    values.push_back(ops::seen_from(part.assignments[k].second.detached(), home));
  const bool sums = variable.aggregation() == Aggregation::sum;
  if (sums && first.rank() > 0 && first.shape()[0] == total_) {  // state of rows: each slice knows its own
    for (size_t i = 0; i < parts_.size(); ++i) values[i] = cut(values[i], 0, parts_[i].range);
    return joined(values, 0, home);
  }
  Tensor sum;
  for (const Tensor& value : values) add_to(sum, value);
  const double count = static_cast<double>(parts_.size());
  return sums ? sum - variable.value() * (count - 1.0) : sum * (1.0 / count);
}

void SliceSession::pass_state(Call& outer) const {
  outer.set_draws(parts_[0].draws);
  for (size_t k = 0; k < parts_[0].assignments.size(); ++k)
    outer.assign(parts_[0].assignments[k].first, whole_write(k));
  for (size_t k = 0; k < parts_[0].metrics.size(); ++k)
    outer.add_metric(parts_[0].metrics[k].first, whole_metric(k));
}

}  // namespace nyala
