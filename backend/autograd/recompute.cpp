// Recomputation for less memory (Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016), op by op:
// a value that is marked is not kept by those that read it; when a gradient asks, the entry that made it
// computes it again from what it keeps, which may itself have to be made again. The entry is found by
// bisection, since values are numbered as they are made.
#include <nyala/backend/autograd/recompute.h>

#include <algorithm>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

bool reads_recomputed(const Tape& tape, const TapeEntry& entry, size_t i) {
  const bool reads = entry.op->keep_inputs == kKeepAll || (i < 32 && (entry.op->keep_inputs >> i & 1u));
  if (!reads) return false;
  const uint32_t id = tape.ids()[entry.first_id + i];
  return id != Tape::kUntracked && tape.values()[id].recomputed;
}

Tensor recompute(Tape& tape, uint32_t value_id) {
  const std::vector<TapeEntry>& entries = tape.entries();
  const auto first_output = [&](const TapeEntry& entry) {
    return tape.ids()[entry.first_id + entry.num_inputs];
  };
  // Values are numbered as they are made.
  const auto entry = std::partition_point(entries.begin(), entries.end(), [&](const TapeEntry& earlier) {
    return first_output(earlier) < value_id;
  });
  check_internal(entry != entries.end() && first_output(*entry) == value_id && entry->op->recompute,
                 "a value that no entry can make again");
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
