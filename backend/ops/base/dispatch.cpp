// The way of every op: shape rule; on abstract inputs a node of a graph and the end; bringing inputs to one
// device; memory for outputs that were not given; kernel and its workspace; launch on the device's stream; an
// entry on the tape that tracks an input. An output's storage gets a new version, by which packed weights
// know that they are old. Where no kernel takes 16-bit floats as they are, the call is made on float32 copies
// and its results are rounded.
#include <nyala/backend/ops/base/dispatch.h>

#include <atomic>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/kernel_table.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/status_word.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::atomic<SymbolicHook> g_symbolic_hook{nullptr};
std::atomic<uint64_t> g_dispatch_count{0};

/// The device that all inputs lie on, or kNoPlacement.
Device common_device(TensorPointers inputs) {
  const Device device = inputs[0]->device();
  for (const Tensor* input : inputs)
    if (input->device() != device) return kNoPlacement;
  return device;
}

/// Values of the host that cost little to fetch, or that a replica elsewhere has from outside of its step:
/// numbers, and inside a replica what was made before.
bool follows_others(const Tensor& x) {
  return x.device() == Device{} && (x.rank() == 0 || thread_context().device != Device{});
}

/// Where inputs of several devices are brought together, and given outputs lie.
Device meeting_place(const OpDef& op, TensorPointers inputs, std::span<const Tensor> outputs) {
  Device place = kNoPlacement;
  const auto join = [&](const Tensor& tensor) {
    if (place == kNoPlacement) place = tensor.device();
    if (tensor.device() != place)
      throw InvalidArgumentError(
          std::string(op.name) + ": inputs are on different devices, " + place.to_string() + " and " +
          tensor.device().to_string() +
          "; move one with tensor.to(device), or open a device() guard: under it inputs are fetched");
  };
  for (const Tensor* input : inputs)
    if (!follows_others(*input)) join(*input);
  for (const Tensor& output : outputs)
    if (output.defined()) join(output);
  return place;
}

bool any_abstract(const OpDef& op, TensorPointers inputs) {
  bool abstract = false;
  for (const Tensor* input : inputs) {
    if (!input->defined())
      throw StateError(std::string(op.name) +
                       ": an input tensor is empty; it was default-constructed and never assigned");
    abstract = abstract || input->is_abstract();
  }
  return abstract;
}

/// Keeps outputs that the caller provided if they are what the shape rule says.
void infer(const OpDef& op, const Descriptor& descriptor, TensorPointers inputs, std::span<Tensor> outputs,
           std::span<Tensor> inferred) {
  InferContext context(op, descriptor.data(), inputs, inferred);
  op.infer(context);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) continue;
    if (outputs[i].shape() != inferred[i].shape() || outputs[i].dtype() != inferred[i].dtype())
      throw ShapeError(std::string(op.name) + ": the given output is " + outputs[i].shape().to_string() +
                       ", the result is " + inferred[i].shape().to_string());
  }
}

/// A call whose tensors all lie on `device`. Bit i of `given` is set where the caller gave output i, which
/// the op may read.
struct Execution {
  const OpDef& op;
  const Descriptor& descriptor;
  TensorPointers inputs;
  std::span<Tensor> outputs;
  Device device;
  uint32_t given = 0;
};

void execute(const Execution& e);

/// The kernel that takes the call on `device`, or null where there is none and soft placement lets the CPU
/// compute instead.
const Kernel* kernel_for(const KernelCall& call, Device device) {
  const KernelTable& table = KernelTable::instance();
  if (device.kind == DeviceKind::cpu || !get_soft_device_placement()) return &table.select(call, device.kind);
  try {
    return &table.select(call, device.kind);
  } catch (const NotFoundError&) {
    log(LogChannel::kernels, std::string(call.op->name) + ": soft placement runs it on cpu:0");
    return nullptr;
  }
}

void execute_on_host(const Execution& e) {
  Tensors moved, results;
  for (const Tensor* input : e.inputs) moved.push_back(input->detached().to(Device{}));
  for (const Tensor& output : e.outputs) results.push_back(output.detached().to(Device{}));
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : moved) pointers.push_back(&input);
  execute({e.op, e.descriptor, pointers, results, Device{}, e.given});
  for (size_t i = 0; i < e.outputs.size(); ++i) e.outputs[i].copy_from(results[i]);
}

void cast_into(const Tensor& from, Tensor to) {
  const Tensor* const inputs[] = {&from};
  execute({ops::kCast, ops::CastDescriptor{to.dtype()}, inputs, std::span(&to, 1), to.device()});
}

Tensor widened(const Tensor& x) {
  Tensor wide = Tensor::empty(x.shape(), DType::float32, x.device());
  cast_into(x, wide);
  return wide;
}

/// The call on float32 copies. Outputs that the caller gave are widened, too: the op may add to them.
void execute_in_float32(const Execution& e) {
  Tensors wide_inputs(e.inputs.size()), wide_outputs(e.outputs.size());
  std::vector<const Tensor*> inputs(e.inputs.begin(), e.inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_half(e.inputs[i]->dtype())) continue;
    size_t same = 0;  // x * x is widened once
    while (e.inputs[same] != e.inputs[i]) ++same;
    if (same == i) wide_inputs[i] = widened(*e.inputs[i]);
    inputs[i] = &wide_inputs[same];
  }
  for (size_t i = 0; i < e.outputs.size(); ++i) {
    const Tensor& output = e.outputs[i];
    if (!is_half(output.dtype()))
      wide_outputs[i] = output;
    else
      wide_outputs[i] = e.given >> i & 1u ? widened(output)
                                          : Tensor::empty(output.shape(), DType::float32, output.device());
  }
  execute({e.op, e.descriptor, inputs, wide_outputs, e.device, e.given});
  for (size_t i = 0; i < e.outputs.size(); ++i)
    if (is_half(e.outputs[i].dtype())) cast_into(wide_outputs[i], e.outputs[i]);
}

/// What kernels get: the inputs, and the status word of their device where the op reports.
class WithStatusWord {
 public:
  WithStatusWord(const OpDef& op, TensorPointers inputs, Device device) : inputs_(inputs) {
    if (!op.reports_status) return;
    check_internal(inputs.size() < pointers_.size(), "an op with too many inputs reports");
    word_ = thread_context().status->word(device);
    std::copy(inputs.begin(), inputs.end(), pointers_.begin());
    pointers_[inputs.size()] = &word_;
    inputs_ = TensorPointers(pointers_.data(), inputs.size() + 1);
  }
  TensorPointers inputs() const { return inputs_; }

 private:
  std::array<const Tensor*, 4> pointers_{};
  Tensor word_;
  TensorPointers inputs_;
};

void execute(const Execution& e) {
  bool all_empty = true;
  for (const Tensor& output : e.outputs) all_empty = all_empty && output.num_elements() == 0;
  if (all_empty) return;
  if (e.op.reports_status && !thread_context().status) {
    StatusWords own;
    const StatusScope scope(own);
    execute(e);
    return own.check();
  }
  WithStatusWord with_word(e.op, e.inputs, e.device);
  Stream& stream = stream_of(e.device);
  KernelCall call{&e.op, nullptr, e.descriptor.data(), with_word.inputs(), e.outputs,
                  {},    &stream, float32_precision()};
  if (has_half(call)) {
    call.kernel = KernelTable::instance().find_half(call, e.device.kind);
    if (!call.kernel && !e.op.takes_half) return execute_in_float32(e);
  }
  if (!call.kernel) call.kernel = kernel_for(call, e.device);
  if (!call.kernel) return execute_on_host(e);
  if (call.kernel->workspace)
    if (const size_t bytes = call.kernel->workspace(call); bytes > 0)
      call.workspace = Tensor::empty({static_cast<int64_t>(bytes)}, DType::uint8, e.device);
  stream.launch(call);
  for (const Tensor& output : e.outputs) output.storage()->bump_version();
}

/// Whether a device() guard makes the op run elsewhere than its inputs are. An op that writes into given
/// tensors runs where those are.
bool runs_elsewhere(const ThreadContext& thread, TensorPointers inputs, std::span<const Tensor> outputs) {
  if (!thread.is_placed()) return false;
  for (const Tensor& output : outputs)
    if (output.defined()) return false;
  for (const Tensor* input : inputs)
    if (input->device() != thread.device) return true;
  return false;
}

void dispatch_on(Device device, const OpDef& op, const Descriptor& descriptor, TensorPointers inputs,
                 std::span<Tensor> outputs) {
  Tensors moved;
  for (const Tensor* input : inputs) moved.push_back(ops::seen_from(*input, device));
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : moved) pointers.push_back(&input);
  dispatch(op, descriptor, pointers, outputs);
}

}  // namespace

Tape* recording_tape(TensorPointers inputs) {
  Tape* tape = nullptr;
  for (const Tensor* input : inputs) {
    Tape* of_input = input->tape();
    if (!of_input || !of_input->recording) continue;
    if (tape && tape != of_input)
      throw StateError("tensors of two gradient tapes meet in one op; use detached() on one of them");
    tape = of_input;
  }
  return tape;
}

void dispatch(const OpDef& op, const Descriptor& descriptor, TensorPointers inputs,
              std::span<Tensor> outputs) {
  constexpr size_t kMaxOutputs = 6;
  check_internal(outputs.size() == op.num_outputs && outputs.size() <= kMaxOutputs && !inputs.empty(),
                 "a dispatch with the wrong number of tensors");
  const bool abstract = any_abstract(op, inputs);
  std::array<Tensor, kMaxOutputs> inferred;
  infer(op, descriptor, inputs, outputs, std::span(inferred.data(), outputs.size()));
  if (abstract) {
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = inferred[i];
    if (SymbolicHook hook = g_symbolic_hook.load(std::memory_order_relaxed))
      hook(op, descriptor, inputs, outputs);
    return;
  }
  if (const ThreadContext& thread = thread_context(); runs_elsewhere(thread, inputs, outputs))
    return dispatch_on(thread.device, op, descriptor, inputs, outputs);
  if (op.is_view && !outputs[0].defined()) {
    outputs[0] = inputs[0]->with_shape(inferred[0].shape());
  } else {
    const Device device = common_device(inputs);
    if (device == kNoPlacement)
      return dispatch_on(meeting_place(op, inputs, outputs), op, descriptor, inputs, outputs);
    uint32_t given = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].defined())
        given |= 1u << i;
      else
        outputs[i] = Tensor::empty(inferred[i].shape(), inferred[i].dtype(), device);
    }
    execute({op, descriptor, inputs, outputs, device, given});
  }
  g_dispatch_count.fetch_add(1, std::memory_order_relaxed);
  if (!op.gradient) return;
  if (Tape* tape = recording_tape(inputs)) tape->record(op, descriptor, inputs, outputs);
}

Tensor dispatch(const OpDef& op, const Descriptor& descriptor, std::initializer_list<const Tensor*> inputs) {
  Tensor output;
  dispatch(op, descriptor, TensorPointers(inputs.begin(), inputs.size()), std::span(&output, 1));
  return output;
}

void dispatch_into(const OpDef& op, const Descriptor& descriptor, std::initializer_list<const Tensor*> inputs,
                   Tensor output) {
  dispatch(op, descriptor, TensorPointers(inputs.begin(), inputs.size()), std::span(&output, 1));
}

void set_symbolic_hook(SymbolicHook hook) { g_symbolic_hook = hook; }

uint64_t dispatch_count() { return g_dispatch_count.load(std::memory_order_relaxed); }

}  // namespace nyala
