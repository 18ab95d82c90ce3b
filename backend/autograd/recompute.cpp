// Recomputation for less memory (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016), op by op:
// a value that is marked is not kept by those that read it; when a gradient asks, the entry that made it
// computes it again from what it keeps, which may itself have to be made again.
#include <nyala/backend/autograd/recompute.h>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

bool reads_recomputed(const Tape& tape, const TapeEntry& entry, size_t i) {
  if (!tape.reads_input(entry, i)) return false;
  const uint32_t id = tape.ids()[entry.first_id + i];
  return id != Tape::kUntracked && tape.values()[id].recomputed;
}

Tensor recompute(Tape& tape, uint32_t value_id) {
  const TapeEntry* entry = tape.maker_of(value_id);
  check_internal(entry && entry->op->recompute, "a value that no entry can make again");
  Tensors kept;
  for (size_t i = 0; i < size_t{entry->num_inputs} + entry->num_outputs; ++i) {
    tape.check_unwritten(*entry, i);
    kept.push_back(i < entry->num_inputs && reads_recomputed(tape, *entry, i)
                       ? recompute(tape, tape.ids()[entry->first_id + i])
                       : tape.tensors()[entry->first_tensor + i]);
  }
  return entry->op->recompute(entry->descriptor.data(), kept);
}

}  // namespace nyala
