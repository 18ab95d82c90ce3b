#include <nyala/api/training/state_broadcast.h>

namespace nyala {

// Bytes of known size first, from which the others see how large the tensors are.
void broadcast_state(ProcessGenerations& generations, int root, TrainingState& state) {
  constexpr const char* kWhat = "the state of training";
  const bool gives = generations.link().rank() == root;
  std::vector<std::byte> head;
  if (gives) head = packed(state);
  int64_t size = std::ssize(head);
  generations.broadcast(std::as_writable_bytes(std::span(&size, 1)), root, kWhat);
  head.resize(static_cast<size_t>(size));
  generations.broadcast(head, root, kWhat);
  TrainingState taken;
  if (!gives) taken = unpacked(head);
  const TrainingState& sent = gives ? state : taken;
  const auto send = [&](const Tensors& values) {
    for (const Tensor& value : values)
      generations.broadcast({static_cast<std::byte*>(value.raw()), value.bytes()}, root, kWhat);
  };
  send(sent.values);
  for (const SavedCallback& callback : sent.callbacks) send(callback.state.values);
  if (!gives) state = std::move(taken);
}

}  // namespace nyala
