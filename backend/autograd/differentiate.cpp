// The walk for GradientTape: only entries between a source and the target are walked (marked forwards first),
// the tape keeps everything, and with `record` the gradients' own ops are recorded on the same tape, so that
// they can be differentiated again. An op that is not twice differentiable stands there as an opaque entry,
// which throws if somebody asks for its derivative instead of giving zeros. float32 gradients of 16-bit
// values are rounded as in backward.cpp.
#include <nyala/backend/autograd/differentiate.h>

#include <nyala/backend/autograd/recompute.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/base/grad_context.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

struct OpaqueDescriptor {
  const OpDef* op;
};

void refuse(GradContext& c) {
  throw InvalidArgumentError("a second derivative goes through the gradient of '" +
                             std::string(c.descriptor<OpaqueDescriptor>().op->name) +
                             "', which cannot be differentiated again; they exist for elementwise ops, "
                             "matmul, dense, reductions, softmax and ops that move elements");
}

/// Stands on the tape for the gradients that an op gave and that cannot be differentiated again.
const OpDef kOpaqueGradient = {.name = "opaque_gradient", .gradient = refuse, .reference = {}};

/// Gradients by value id, and which values lie between a source and the target.
class Walk {
 public:
  Walk(Tape& tape, const DerivativeRequest& request)
      : tape_(tape),
        gradients_(tape.values().size()),
        wanted_(tape.values().size(), false),
        is_source_(tape.values().size(), false) {
    for (const uint32_t source : request.sources) wanted_[source] = is_source_[source] = true;
    for (const EntryRange& range : request.ranges)
      for (size_t e = range.begin; e < range.end; ++e) mark(tape.entries()[e]);
  }

  bool wanted(uint32_t id) const { return id < wanted_.size() && wanted_[id]; }
  const Tensor& gradient(uint32_t id) const { return gradients_[id]; }

  void add(uint32_t id, const Tensor& given) {
    Tensor& sum = gradients_[id];
    const DType dtype =
        sum.defined() ? tape_.values()[id].dtype_of_sum(promote(sum.dtype(), given.dtype())) : given.dtype();
    const Tensor gradient = ops::cast(given, dtype);
    if (sum.defined()) sum = ops::cast(sum, dtype);
    if (!sum.defined())
      sum = gradient;
    else if (!tape_.recording && sum.storage().unique())
      dispatch_into(ops::kAddInPlace, NoDescriptor{}, {&gradient}, sum);
    else
      sum = dispatch(ops::kAdd, NoDescriptor{}, {&sum, &gradient});
  }

  /// In the dtype of the value, for an op that computes with it and for who asked.
  void round(uint32_t id) {
    Tensor& sum = gradients_[id];
    if (sum.defined()) sum = ops::cast(sum, tape_.values()[id].abstract.dtype());
  }

  void forget(uint32_t id) {
    if (!is_source_[id]) gradients_[id] = Tensor();
  }

 private:
  void mark(const TapeEntry& entry) {
    const uint32_t* ids = tape_.ids().data() + entry.first_id;
    bool reached = false;
    for (size_t i = 0; i < entry.num_inputs; ++i) reached = reached || wanted(ids[i]);
    for (size_t i = 0; reached && i < entry.num_outputs; ++i) wanted_[ids[entry.num_inputs + i]] = true;
  }

  Tape& tape_;
  Tensors gradients_;
  std::vector<bool> wanted_, is_source_;
};

/// An entry while it is walked. Everything is copied out of the tape, which grows while it is recorded.
class EntryContext final : public GradContext {
 public:
  EntryContext(Tape& tape, size_t index, Walk& walk, bool records)
      : tape_(tape), entry_(tape.entries()[index]), walk_(walk), records_(records) {
    const size_t count = size_t{entry_.num_inputs} + entry_.num_outputs;
    for (size_t i = 0; i < count; ++i) {
      ids_.push_back(tape.ids()[entry_.first_id + i]);
      const bool recomputed = i < entry_.num_inputs && reads_recomputed(tape, entry_, i);
      tensors_.push_back(recomputed && records ? recompute(tape, ids_[i])
                                               : tape.tensors()[entry_.first_tensor + i]);
      is_recomputed_.push_back(recomputed && !records);
      if (records && ids_[i] != Tape::kUntracked) tensors_[i].track(tape.slot(), ids_[i]);
    }
  }

  const void* descriptor_data() const override { return entry_.descriptor.data(); }
  size_t num_inputs() const override { return entry_.num_inputs; }
  const Tensor& input(size_t i) const override {
    tape_.check_unwritten(entry_, i);
    if (is_recomputed_[i]) {
      tensors_[i] = recompute(tape_, ids_[i]);
      is_recomputed_[i] = false;
    }
    return tensors_[i];
  }
  const Tensor& output(size_t i) const override {
    tape_.check_unwritten(entry_, entry_.num_inputs + i);
    return tensors_[entry_.num_inputs + i];
  }
  const Tensor& grad(size_t i) const override {
    return detached_.empty() ? walk_.gradient(ids_[entry_.num_inputs + i]) : detached_[i];
  }
  bool needs(size_t i) const override { return walk_.wanted(ids_[i]); }
  bool records() const override { return records_; }

  void set(size_t i, const Tensor& gradient) override {
    if (!needs(i)) return;
    if (gradient.shape() != tensors_[i].shape())
      check_internal(false,
                     "a gradient of " + std::string(entry_.op->name) + " has another shape than its input");
    if (opaque_.empty())
      walk_.add(ids_[i], gradient);
    else if (opaque_[i].defined())
      opaque_[i] = ops::add(opaque_[i], gradient);
    else
      opaque_[i] = gradient;
  }
  void emit(size_t i, const OpDef& op, const Descriptor& descriptor,
            std::initializer_list<const Tensor*> inputs) override {
    if (needs(i)) set(i, dispatch(op, descriptor, inputs));
  }

  bool has_gradient() const {
    for (size_t i = 0; i < entry_.num_outputs; ++i)
      if (walk_.gradient(ids_[entry_.num_inputs + i]).defined()) return true;
    return false;
  }
  bool leads_anywhere() const {
    for (size_t i = 0; i < entry_.num_inputs; ++i)
      if (needs(i)) return true;
    return false;
  }

  void walk(Tape& tape) {
    if (!entry_.op->hands_on_gradients)
      for (size_t i = 0; i < entry_.num_outputs; ++i) walk_.round(ids_[entry_.num_inputs + i]);
    if (!records_ || entry_.op->twice_differentiable)
      entry_.op->gradient(*this);
    else
      walk_unrecorded(tape);
    for (size_t i = 0; i < entry_.num_outputs; ++i) walk_.forget(ids_[entry_.num_inputs + i]);
  }

 private:
  /// The gradients come from nowhere, so an entry that says from what they were computed stands for them.
  void walk_unrecorded(Tape& tape) {
    Tensors from;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].tape() == &tape && !tensors_[i].is_abstract()) from.push_back(tensors_[i]);
    for (size_t i = 0; i < entry_.num_outputs; ++i) {
      const Tensor& gradient = walk_.gradient(ids_[entry_.num_inputs + i]);
      if (gradient.tape() == &tape) from.push_back(gradient);
      detached_.push_back(gradient.detached());
    }
    for (Tensor& tensor : tensors_) tensor = tensor.detached();
    opaque_.resize(entry_.num_inputs);
    records_ = false;
    {
      const ScopedValue<bool> off(tape.recording, false);
      entry_.op->gradient(*this);
    }
    if (!from.empty()) record_opaque(tape, from);
    for (size_t i = 0; i < opaque_.size(); ++i)
      if (opaque_[i].defined()) walk_.add(ids_[i], opaque_[i]);
  }

  void record_opaque(Tape& tape, const Tensors& from) {
    std::vector<const Tensor*> inputs;
    for (const Tensor& tensor : from) inputs.push_back(&tensor);
    Tensors outputs;
    for (const Tensor& gradient : opaque_)
      if (gradient.defined()) outputs.push_back(gradient);
    if (outputs.empty()) return;
    tape.record(kOpaqueGradient, OpaqueDescriptor{entry_.op}, inputs, outputs);
    size_t next = 0;
    for (Tensor& gradient : opaque_)
      if (gradient.defined()) gradient = outputs[next++];
  }

  Tape& tape_;
  const TapeEntry entry_;
  Walk& walk_;
  bool records_;
  std::vector<uint32_t> ids_;
  mutable Tensors tensors_;
  mutable std::vector<bool> is_recomputed_;  // once it is read
  Tensors detached_;  // gradients of the outputs while an op that is not twice differentiable is walked
  Tensors opaque_;    // and what it gives
};

Tensor seed_for(const Tensor& target, const Tensor& seed) {
  if (!seed.defined()) return ops::ones_like(target.detached());
  if (seed.shape() != target.shape())
    throw ShapeError("gradient: expected output gradients of shape " + target.shape().to_string() +
                     ", that of the target, received " + seed.shape().to_string());
  return seed;
}

}  // namespace

Tensors detail::differentiate(Tape& tape, const Tensor& target, const DerivativeRequest& request) {
  if (target.tape() != &tape) return Tensors(request.sources.size());
  const ScopedValue<bool> recording(tape.recording, request.record);
  const DeviceGuard on_the_devices_of_forward(kNoPlacement);
  Walk walk(tape, request);
  if (walk.wanted(target.value_id())) walk.add(target.value_id(), seed_for(target, request.seed));
  for (size_t r = request.ranges.size(); r-- > 0;)
    for (size_t e = request.ranges[r].end; e-- > request.ranges[r].begin;) {
      EntryContext context(tape, e, walk, request.record);
      if (context.has_gradient() && context.leads_anywhere()) context.walk(tape);
    }
  Tensors gradients;
  for (const uint32_t source : request.sources) {
    walk.round(source);
    gradients.push_back(walk.gradient(source));
  }
  return gradients;
}

}  // namespace nyala
