#pragma once

#include <initializer_list>

#include <nyala/backend/core/op.h>
#include <nyala/backend/core/tape.h>

namespace nyala {

/// Runs `op`: infers the outputs, takes memory for them, picks a kernel, launches it on the inputs' stream
/// and records it on the tape that tracks an input. On abstract inputs it only infers (and adds an operation
/// node to a graph that is being traced). An output that is defined on entry is written into instead of being
/// allocated; its shape and dtype must be the inferred ones. Throws ShapeError or DTypeError from the shape
/// rule, StateError for an empty input, InvalidArgumentError for inputs on different devices; but scalars of
/// cpu:0 follow the others, and inside a replica all that lies on cpu:0 does. Under a device() guard inputs
/// that lie elsewhere are fetched and the op runs on the guard's device, unless an output is given: then it
/// runs where the inputs are.
void dispatch(const OpDef& op, const Descriptor& descriptor, TensorPointers inputs,
              std::span<Tensor> outputs);

/// The same for ops with one output.
Tensor dispatch(const OpDef& op, const Descriptor& descriptor, std::initializer_list<const Tensor*> inputs);

/// Runs `op` on untracked inputs into `output`, which is defined: nothing is recorded.
void dispatch_into(const OpDef& op, const Descriptor& descriptor, std::initializer_list<const Tensor*> inputs,
                   Tensor output);

/// The tape that tracks one of the inputs and is recording, or null. Throws StateError for two tapes at once.
Tape* recording_tape(TensorPointers inputs);

/// Hook of the layer above: called for an op on symbolic inputs (TensorMetadata present) to add a graph node.
using SymbolicHook = void (*)(const OpDef&, const Descriptor&, TensorPointers, std::span<Tensor>);
void set_symbolic_hook(SymbolicHook hook);

/// How many ops have been dispatched by this process, for tests and overhead counts.
uint64_t dispatch_count();

}  // namespace nyala
