// Nothing is kept of a call that fails: the model is what it was, so that all begin the call again with it. A
// process that is started again comes to the call that the others wait in by its number.
#include <nyala/api/training/call_of_all.h>

#include <nyala/api/training/callback_list.h>
#include <nyala/api/training/recovery.h>
#include <nyala/api/training/state/training_state.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// False where the others are beyond the call.
bool is_made(const CallOfAll& call, ProcessGenerations& generations, Recovery& recovery) {
  recovery.begin({}, {});
  if (recovery.is_awaited() && !recovery.go_on_here(call.learn)) return false;
  for (;;) {
    try {
      recovery.keep_begin();
      call.make();
      return true;
    } catch (const CommunicationError& error) {
      // Of what all have been told in a generation that lives nothing is lost: a file that cannot be written.
      if (!generations.link().communicator().failed()) throw;
      if (!recovery.can_go_on()) recovery.rethrow(error);
      if (!recovery.go_on_after(error, call.learn)) return false;
    }
  }
}

}  // namespace

int64_t make_with_all(const Model& model, const CallOfAll& call) {
  ProcessGenerations* const generations = model.model_node().strategy()->generations();
  if (!generations || generations->is_in_call()) {
    call.make();
    return 0;
  }
  Model handle = model;
  CallbackList none(handle, {}, {});
  Recovery recovery(std::static_pointer_cast<ModelNode>(handle.shared()), none, call.what);
  if (recovery.is_past() || !is_made(call, *generations, recovery))
    call.pass_over(*generations, recovery.number());
  return recovery.number();
}

void keep_result(ProcessGenerations& generations, int64_t number, const Logs& logs) {
  TrainingState state;
  state.finished = {{0, logs}};
  generations.results[number] = packed(state);
}

namespace {

const std::vector<std::byte>& kept(const ProcessGenerations& generations, int64_t number, const char* what) {
  const auto found = generations.results.find(number);
  if (found == generations.results.end())
    throw StateError(std::string(what) +
                     ": the others made this call before this process was started again, or while it stood "
                     "still, and what it gave is not kept. Call it behind the last fit, or let the others go "
                     "on without a process that is lost (min_workers)");
  return found->second;
}

size_t bytes_of(const Tensors& values) {
  size_t bytes = 0;
  for (const Tensor& value : values) bytes += value.bytes();
  return bytes;
}

}  // namespace

Logs kept_result(const ProcessGenerations& generations, int64_t number) {
  return unpacked(kept(generations, number, "evaluate")).finished.at(0).second;
}

// What tensors they are, and behind that what is in them.
void keep_outputs(ProcessGenerations& generations, int64_t number, const Tensors& outputs) {
  if (!generations.can_go_on()) return;
  size_t all = bytes_of(outputs);
  for (const auto& [call, bytes] : generations.results) all += bytes.size();
  if (all > kMostKeptBytes) return;
  TrainingState state;
  state.values = outputs;
  std::vector<std::byte> bytes = packed(state);
  for (const Tensor& output : outputs) {
    bytes.resize(bytes.size() + output.bytes());
    output.copy_to_host(bytes.data() + bytes.size() - output.bytes());
  }
  generations.results[number] = std::move(bytes);
}

Tensors kept_outputs(const ProcessGenerations& generations, int64_t number) {
  const std::vector<std::byte>& bytes = kept(generations, number, "predict");
  const Tensors outputs = unpacked(bytes).values;
  if (bytes_of(outputs) > bytes.size())
    throw CommunicationError("what predict gave: a peer sent fewer bytes than it said");
  const std::byte* from = bytes.data() + bytes.size() - bytes_of(outputs);
  for (const Tensor& output : outputs) {
    output.copy_from_host(from);
    from += output.bytes();
  }
  return outputs;
}

}  // namespace nyala
