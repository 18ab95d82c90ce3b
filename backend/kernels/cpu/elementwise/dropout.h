#pragma once

#include <cstdint>

namespace nyala {

class KernelTable;

/// Dropout of float32 with the vector instructions of this CPU.
void register_dropout(KernelTable& table);

/// A run of draws, see ops::DropoutPlan: y[i] = word(first_draw + i) < threshold ? 0 : x[i] * scale, with 1
/// for x where that is null.
struct DropoutRun {
  const float* x = nullptr;
  float* y = nullptr;
  int64_t count = 0;
  int64_t first_draw = 0;
  uint64_t key = 0, step = 0;
  uint32_t threshold = 0;
  float scale = 1.0f;
};
void dropout_run_avx2(const DropoutRun& run);
void dropout_run_avx512(const DropoutRun& run);

}  // namespace nyala
