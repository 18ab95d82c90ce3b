#pragma once

#include <nyala/backend/core/tape.h>

namespace nyala {

/// Whether the gradient of `entry` reads input `i` and the tape holds only its shape.
bool reads_recomputed(const Tape& tape, const TapeEntry& entry, size_t i);

/// The value marked TapeValue::recomputed, computed again from what the entry that gave it keeps. Untracked;
/// the tape stays as it is.
Tensor recompute(Tape& tape, uint32_t value_id);

}  // namespace nyala
