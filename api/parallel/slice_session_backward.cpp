// To the tape outside the whole is one op with the inputs and all weights as its inputs. Its gradient
// differentiates each slice's tape on its own device at the same time; several results of a slice become one
// number whose gradient has all their seeds. Gradients of inputs are joined, those of a weight are summed in
// the order of devices.
#include <algorithm>

#include <nyala/api/parallel/slice_session.h>
#include <nyala/backend/autograd/differentiate.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/slice.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

struct SlicesDescriptor {
  SliceSession* session;  // kept alive by input 0
};

void gradient_of_slices(GradContext& c) { c.descriptor<SlicesDescriptor>().session->backward(c); }

/// Inputs (the session, the inputs, every weight) -> outputs and losses. Only recorded.
const OpDef kDeviceSlices = {
    .name = "device_slices", .gradient = gradient_of_slices, .keep_inputs = keep(0), .reference = {}};

}  // namespace

std::vector<TapeValue> SliceSession::weights() const {
  std::vector<TapeValue> found;
  auto is_known = [&found](const TapeValue& value) {
    return std::any_of(found.begin(), found.end(), [&value](const TapeValue& known) {
      return known.leaf == value.leaf && known.address == value.address;
    });
  };
  for (const Part& part : parts_)
    for (const TapeValue& value : part.tape->values())
      if (value.leaf >= 0 && !is_known(value)) found.push_back(value);
  return found;
}

void SliceSession::record(const std::shared_ptr<SliceSession>& session, Tape& tape, Tensors& outputs,
                          Tensors& losses) {
  session->weights_ = session->weights();
  Tensors inputs = {Tensor::wrap(session.get(), {0}, DType::uint8, session)};
  inputs.insert(inputs.end(), session->inputs_.begin(), session->inputs_.end());
  for (const TapeValue& weight : session->weights_) inputs.push_back(tape.watch_same(weight));
  std::vector<const Tensor*> pointers;
  bool tracked = false;
  for (const Tensor& input : inputs) {
    pointers.push_back(&input);
    tracked = tracked || input.tape() == &tape;
  }
  if (!tracked) return;
  Tensors results = outputs;
  results.insert(results.end(), losses.begin(), losses.end());
  tape.record(kDeviceSlices, SlicesDescriptor{session.get()}, pointers, results);
  const auto middle = results.begin() + static_cast<std::ptrdiff_t>(outputs.size());
  outputs.assign(results.begin(), middle);
  losses.assign(middle, results.end());
}

/// The value on a slice's tape that input 1 + k of the op is: an input, or a weight.
uint32_t SliceSession::source_of(const Part& part, size_t k) const {
  if (k >= inputs_.size()) {
    const TapeValue& weight = weights_[k - inputs_.size()];
    return part.tape->find(weight.leaf, weight.address);
  }
  return part.inputs[k].tape() == part.tape.get() ? part.inputs[k].value_id() : Tape::kUntracked;
}

/// The gradient of what a slice gave to a result of the op, undefined where nothing depends on that.
Tensor SliceSession::seed_of(const GradContext& c, const Part& part, size_t result) const {
  const Tensor& gradient = c.grad(result);
  if (!gradient.defined()) return {};
  if (result >= part.outputs.size())
    return ops::seen_from(gradient.detached(), part.losses[result - part.outputs.size()].device()) *
           share(part);
  const Tensor& own = part.outputs[result];
  const int axis = machine_->options.axis;
  int64_t first = 0;  // outputs may have another size along the axis than inputs
  for (const Part* before = parts_.data(); before != &part; ++before)
    first += before->outputs[result].shape()[axis];
  const Tensor whole = gradient.detached();
  const int64_t count = own.shape()[axis];
  return ops::seen_from(
      axis == 0 ? whole.rows(first, count) : ops::slice_axis(whole, axis, {first, first + count}),
      own.device());
}

SliceSession::Target SliceSession::target_of(const GradContext& c, const Part& part) const {
  std::vector<Target> all;
  for (size_t k = 0; k < part.outputs.size() + part.losses.size(); ++k) {
    const Tensor& result = k < part.outputs.size() ? part.outputs[k] : part.losses[k - part.outputs.size()];
    const Tensor seed = seed_of(c, part, k);
    if (seed.defined() && result.tape() == part.tape.get()) all.push_back({result, seed});
  }
  if (all.empty()) return {};
  if (all.size() == 1) return all[0];
  Tensor sum;  // one number whose gradient has all the seeds
  for (const Target& one : all) {
    const Tensor product = ops::cast(ops::sum(ops::multiply(one.value, one.seed)), all[0].value.dtype());
    sum = sum.defined() ? ops::add(sum, product) : product;
  }
  return {sum, {}};
}

Tensors SliceSession::backward_part(const GradContext& c, const Part& part) const {
  Tensors gradients(c.num_inputs() - 1);
  const Target target = target_of(c, part);
  if (!target.value.defined()) return gradients;
  DerivativeRequest request{.ranges = {{0, part.tape->entries().size()}}, .seed = target.seed};
  std::vector<size_t> places;
  for (size_t k = 0; k < gradients.size(); ++k) {
    const uint32_t id = source_of(part, k);
    if (id == Tape::kUntracked || !c.needs(1 + k)) continue;
    request.sources.push_back(id);
    places.push_back(k);
  }
  const Tensors found = differentiate(*part.tape, target.value, request);
  for (size_t k = 0; k < found.size(); ++k) gradients[places[k]] = found[k];
  return gradients;
}

Tensor SliceSession::input_gradient(size_t k, const std::vector<Tensors>& gradients) const {
  Tensors pieces;
  const Device home = inputs_[k].device();
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Tensor& slice = parts_[i].inputs[k];
    if (slice.num_elements() == 0) continue;
    const Tensor& own = gradients[i][k];
    pieces.push_back(own.defined() ? ops::seen_from(own, home)
                                   : Tensor::zeros(slice.shape(), slice.dtype(), home));
  }
  if (pieces.empty()) return Tensor::zeros(inputs_[k].shape(), inputs_[k].dtype(), home);
  return pieces.size() == 1 ? pieces[0] : ops::concatenate(pieces, machine_->options.axis);
}

void SliceSession::backward(GradContext& c) {
  std::vector<Tensors> gradients(parts_.size());
  machine_->on_all([&](int i) {
    const size_t part = static_cast<size_t>(i);
    gradients[part] = backward_part(c, parts_[part]);
  });
  for (size_t k = 0; k < inputs_.size() + weights_.size(); ++k) {
    if (!c.needs(1 + k)) continue;
    const Device home = c.input(1 + k).device();
    const auto here = device(home);
    if (k < inputs_.size()) {
      c.set(1 + k, input_gradient(k, gradients));
      continue;
    }
    Tensor sum;
    for (const Tensors& of_part : gradients)
      if (const Tensor& own = of_part[k]; own.defined())
        sum = sum.defined() ? ops::add(sum, ops::seen_from(own, home)) : ops::seen_from(own, home);
    if (sum.defined()) c.set(1 + k, sum);
  }
}

}  // namespace nyala
