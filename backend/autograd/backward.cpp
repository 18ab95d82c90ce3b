// The tape is walked once, from the end. Gradients are kept by value id and released with the entry that made
// the value; a leaf's is final when the uses that were counted while recording are all walked, and goes to
// the sink at once, while the rest is still computed. The first contribution is written to the place that the
// sink names, later ones are added in place; others are added in place where nobody else holds the bytes. The
// gradient of a 16-bit value may arrive in float32, as those of weights do, and the sum of more than two does
// not fit 16 bits: it is added up in float32, and rounded where an op takes it, or for the sink.
#include <nyala/backend/autograd/backward.h>

#include <array>
#include <map>

#include <nyala/backend/autograd/recompute.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/per_thread.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// The gradients known so far, by value id.
class Walk {
 public:
  Walk(Tape& tape, GradientSink& sink)
      : tape_(tape), sink_(sink), scratch_(scratch()), gradients_(std::exchange(scratch_, {})) {
    gradients_.assign(tape.values().size(), Tensor());
  }
  ~Walk() {
    gradients_.clear();
    scratch_ = std::move(gradients_);
  }

  const TapeValue& value(uint32_t id) const { return tape_.values()[id]; }

  /// A value that its readers do not keep, from the entry that made it; kept until that is walked.
  const Tensor& recomputed(uint32_t id) {
    Tensor& known = recomputed_[id];
    if (!known.defined()) known = recompute(tape_, id);
    return known;
  }
  void forget(uint32_t id) {
    gradients_[id] = Tensor();
    if (value(id).recomputed) recomputed_.erase(id);
  }
  Tensor& gradient(uint32_t id) { return gradients_[id]; }
  /// For an op that computes with the gradient: in the dtype of the value.
  void round(uint32_t id) {
    Tensor& sum = gradients_[id];
    if (sum.defined() && sum.dtype() != value(id).abstract.dtype())
      sum = ops::cast(sum, value(id).abstract.dtype());
  }

  void add(uint32_t id, const Tensor& given) {
    Tensor& sum = gradients_[id];
    if (!sum.defined()) {
      sum = is_written_at_once(id) ? placed(id, given) : given;
      return;
    }
    const DType dtype = value(id).dtype_of_sum(promote(sum.dtype(), given.dtype()));
    const Tensor gradient = ops::cast(given, dtype);
    if (sum.dtype() != dtype) sum = ops::cast(sum, dtype);
    if (sum.storage().unique() || is_written_at_once(id)) {
      dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&gradient}, sum);
    } else {  // somebody else shares these bytes
      sum = dispatch(ops::kAdd, NoDescriptor{}, {&sum, &gradient});
    }
  }

  void emit(uint32_t id, const OpDef& op, const Descriptor& descriptor, TensorPointers inputs) {
    Tensor output;
    const bool first = !gradients_[id].defined();
    if (first && takes_rows(id, op, descriptor, inputs)) {
      taken_ = id;
      return;
    }
    if (first && is_written_at_once(id)) output = sink_.destination(value(id).leaf);
    dispatch(op, descriptor, inputs, std::span(&output, 1));
    if (first)
      gradients_[id] = output;
    else
      add(id, output);
  }

  /// One use of value `id` has been walked; reports a leaf after its last.
  void used(uint32_t id, std::vector<uint32_t>& uses) {
    if (--uses[id] > 0 || value(id).leaf < 0) return;
    if (taken_ != id) return report(id);
    taken_ = Tape::kUntracked;
  }

  void report(uint32_t id) {
    const TapeValue& leaf = value(id);
    Tensor& sum = gradients_[id];
    if (!sum.defined()) {
      if (lies_elsewhere(id)) return;
      if (sink_.without_gradient(leaf.leaf)) return;
      sum = sink_.destination(leaf.leaf);
      if (!sum.defined())
        sum = Tensor::empty(leaf.abstract.shape(), leaf.abstract.dtype(), leaf.abstract.device());
      ops::detail::fill_zero(sum);
    } else if (!is_written_at_once(id)) {
      sum = placed(id, sum);
    }
    sink_.ready(leaf.leaf, sum);
    sum = Tensor();
  }

 private:
  /// Whether the sink wants this gradient of a leaf as rows.
  bool takes_rows(uint32_t id, const OpDef& op, const Descriptor& descriptor, TensorPointers inputs) {
    const bool elsewhere = lies_elsewhere(id);
    if (&op != &ops::kTakeBackward || value(id).leaf < 0 || (value(id).uses != 1 && !elsewhere)) return false;
    if (descriptor.as<ops::ScatterAddDescriptor>().axis != 0) return false;
    if (sink_.take_rows(value(id).leaf, *inputs[1], *inputs[0])) return true;
    if (elsewhere)
      throw StateError("gradient: variable " + in_quotes(value(id).source->path()) +
                       " is a table on parameter servers, whose gradient is rows that fit pushes to them");
    return false;
  }

  /// A table that has no bytes here: its gradient comes as rows, from each of its uses.
  bool lies_elsewhere(uint32_t id) const {
    const TapeValue& leaf = value(id);
    return leaf.leaf >= 0 && !leaf.address && leaf.source && leaf.abstract.num_elements() > 0;
  }

  /// A leaf whose gradient grows where the sink wants it. That of a 16-bit leaf is rounded when it is final.
  bool is_written_at_once(uint32_t id) const {
    return value(id).leaf >= 0 && !is_half(value(id).abstract.dtype());
  }

  /// The gradient of a leaf in its dtype, in a place of its own: later ones are added to it.
  Tensor placed(uint32_t id, const Tensor& gradient) {
    const DType dtype = value(id).abstract.dtype();
    Tensor destination = sink_.destination(value(id).leaf);
    if (gradient.dtype() != dtype) {
      dispatch(ops::kCast, ops::CastDescriptor{dtype}, std::array{&gradient}, std::span(&destination, 1));
      return destination;
    }
    if (!destination.defined()) return gradient.clone();
    destination.copy_from(gradient);
    return destination;
  }

  /// Kept per thread, so that a warm step grows nothing. A walk takes it: an op's gradient may begin another.
  static std::vector<Tensor>& scratch() {
    static auto* const of_threads = new PerThread<std::vector<Tensor>>;
    return of_threads->get();
  }

  Tape& tape_;
  GradientSink& sink_;
  std::vector<Tensor>& scratch_;
  std::vector<Tensor> gradients_;
  std::map<uint32_t, Tensor> recomputed_;
  uint32_t taken_ = Tape::kUntracked;  // a leaf whose gradient the sink has as rows
};

class EntryContext final : public GradContext {
 public:
  EntryContext(Tape& tape, const TapeEntry& entry, Walk& walk) : tape_(tape), entry_(entry), walk_(walk) {}

  const void* descriptor_data() const override { return entry_.descriptor.data(); }
  size_t num_inputs() const override { return entry_.num_inputs; }
  const Tensor& input(size_t i) const override {
    tape_.check_unwritten(entry_, i);
    return reads_recomputed(tape_, entry_, i) ? walk_.recomputed(input_id(i)) : kept(i);
  }
  const Tensor& output(size_t i) const override {
    tape_.check_unwritten(entry_, entry_.num_inputs + i);
    return tape_.tensors()[entry_.first_tensor + entry_.num_inputs + i];
  }
  const Tensor& grad(size_t i) const override { return walk_.gradient(output_id(i)); }
  bool needs(size_t i) const override { return input_id(i) != Tape::kUntracked; }
  Tensor spare_grad(size_t i) const override {
    const Tensor& gradient = grad(i);
    return gradient.defined() && gradient.storage().unique() && walk_.value(output_id(i)).leaf < 0 ? gradient
                                                                                                   : Tensor();
  }
  void set(size_t i, const Tensor& gradient) override {
    if (!needs(i)) return;
    if (gradient.shape() != kept(i).shape())  // no text is built where nothing is wrong
      check_internal(false,
                     "a gradient of " + std::string(entry_.op->name) + " has another shape than its input");
    walk_.add(input_id(i), gradient);
  }
  void emit(size_t i, const OpDef& op, const Descriptor& descriptor,
            std::initializer_list<const Tensor*> inputs) override {
    if (needs(i)) walk_.emit(input_id(i), op, descriptor, TensorPointers(inputs.begin(), inputs.size()));
  }

  const Tensor& kept(size_t i) const { return tape_.tensors()[entry_.first_tensor + i]; }
  uint32_t input_id(size_t i) const { return tape_.ids()[entry_.first_id + i]; }
  uint32_t output_id(size_t i) const { return tape_.ids()[entry_.first_id + entry_.num_inputs + i]; }

 private:
  Tape& tape_;
  const TapeEntry& entry_;
  Walk& walk_;
};

bool has_gradient(const TapeEntry& entry, const EntryContext& context) {
  for (size_t i = 0; i < entry.num_outputs; ++i)
    if (context.grad(i).defined()) return true;
  return false;
}

void walk_back(Tape& tape, const Tensor& loss, GradientSink& sink, const Tensor& seed, bool release) {
  if (loss.tape() != &tape)
    throw StateError(
        "backward: the tape does not track this value; it was computed outside, or by ops without a gradient "
        "(floor, comparisons), or the tape was cleared");
  ScopedValue<bool> off(tape.recording, false);
  const DeviceGuard on_the_devices_of_forward(kNoPlacement);
  Walk walk(tape, sink);
  static auto* const of_threads = new PerThread<std::vector<uint32_t>>;
  std::vector<uint32_t>& kept_uses = of_threads->get();
  std::vector<uint32_t> uses = std::exchange(kept_uses, {});
  uses.clear();
  for (const TapeValue& value : tape.values()) uses.push_back(value.uses);
  for (uint32_t id = 0; id < tape.values().size(); ++id)
    if (tape.values()[id].leaf >= 0 && uses[id] == 0 && id != loss.value_id()) walk.report(id);
  walk.add(loss.value_id(), seed.defined() ? seed : ops::ones_like(loss.detached()));
  if (walk.value(loss.value_id()).leaf >= 0 && uses[loss.value_id()] == 0) walk.report(loss.value_id());

  for (size_t e = tape.entries().size(); e-- > 0;) {
    const TapeEntry& entry = tape.entries()[e];
    EntryContext context(tape, entry, walk);
    if (!entry.op->hands_on_gradients)
      for (size_t i = 0; i < entry.num_outputs; ++i) walk.round(context.output_id(i));
    if (has_gradient(entry, context)) entry.op->gradient(context);
    for (size_t i = 0; i < entry.num_outputs; ++i) walk.forget(context.output_id(i));
    if (release)
      for (size_t i = 0; i < size_t{entry.num_inputs} + entry.num_outputs; ++i)
        tape.tensors()[entry.first_tensor + i] = Tensor();
    for (size_t i = 0; i < entry.num_inputs; ++i)
      if (context.needs(i)) walk.used(context.input_id(i), uses);
  }
  if (release) tape.clear();
  kept_uses = std::move(uses);
}

}  // namespace

void backward(Tape& tape, const Tensor& loss, GradientSink& sink, const Tensor& seed) {
  walk_back(tape, loss, sink, seed, true);
}

void backward_keep(Tape& tape, const Tensor& loss, GradientSink& sink, const Tensor& seed) {
  walk_back(tape, loss, sink, seed, false);
}

}  // namespace nyala
