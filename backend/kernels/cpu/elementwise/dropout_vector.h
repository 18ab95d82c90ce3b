#pragma once

#include <cstdint>

#include <nyala/backend/kernels/cpu/elementwise/dropout.h>

/// The loop of dropout over a type V of vectors, which each file that is compiled for one kind of CPU brings
/// from its unnamed namespace, so that every copy of the loop stays in its file.
namespace nyala::vec {

/// Philox4x32-10 on V::kCount blocks side by side: as nyala::philox.
template <class V>
struct PhiloxBlocks {
  using U = typename V::U;
  U c0, c1, c2, c3;

  PhiloxBlocks(uint64_t first_block, uint64_t step, uint64_t key)
      : c0(V::counting(static_cast<uint32_t>(first_block))),
        c1(V::all(static_cast<uint32_t>(first_block >> 32))),
        c2(V::all(static_cast<uint32_t>(step))),
        c3(V::all(static_cast<uint32_t>(step >> 32))) {
    const U m0 = V::all(0xD2511F53u), m1 = V::all(0xCD9E8D57u);
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      U high0, low0, high1, low1;
      V::multiply(c0, m0, high0, low0);
      V::multiply(c2, m1, high1, low1);
      c0 = V::exclusive_or(V::exclusive_or(high1, c1), V::all(k0));
      c1 = low1;
      c2 = V::exclusive_or(V::exclusive_or(high0, c3), V::all(k1));
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
  }
};

/// The 64 results of one group of draws; x and y are whole.
template <class V>
void dropout_group(const DropoutRun& run, int64_t group, const float* x, float* y) {
  for (int64_t lane = 0; lane < 16; lane += V::kCount) {
    const PhiloxBlocks<V> blocks(static_cast<uint64_t>(group * 16 + lane), run.step, run.key);
    V::keep(blocks.c0, run.threshold, run.scale, x + lane, y + lane);
    V::keep(blocks.c1, run.threshold, run.scale, x + 16 + lane, y + 16 + lane);
    V::keep(blocks.c2, run.threshold, run.scale, x + 32 + lane, y + 32 + lane);
    V::keep(blocks.c3, run.threshold, run.scale, x + 48 + lane, y + 48 + lane);
  }
}

template <class V>
void dropout_run(const DropoutRun& run) {
  constexpr int64_t kGroup = 64;
  float part_x[kGroup], part_y[kGroup];
  for (float& value : part_x) value = 1.0f;
  for (int64_t i = 0; i < run.count;) {
    const int64_t draw = run.first_draw + i, skipped = draw % kGroup;
    const int64_t rest = run.count - i, length = kGroup - skipped < rest ? kGroup - skipped : rest;
    if (length == kGroup) {
      dropout_group<V>(run, draw / kGroup, run.x ? run.x + i : part_x, run.y + i);
    } else {
      if (run.x)
        for (int64_t k = 0; k < length; ++k) part_x[skipped + k] = run.x[i + k];
      dropout_group<V>(run, draw / kGroup, part_x, part_y);
      for (int64_t k = 0; k < length; ++k) run.y[i + k] = part_y[skipped + k];
    }
    i += length;
  }
}

}  // namespace nyala::vec
