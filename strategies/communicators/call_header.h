#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nyala/backend/core/dtype.h>

namespace nyala {

/// What becomes of the elements of all ranks at one place. bool: sum and max are "or", min is "and". Integers
/// wrap around; float16 and bfloat16 are added in float32 and rounded once; of a NaN and a number max and min
/// take the NaN.
enum class CollectiveOp : uint8_t { sum, max, min };

namespace detail {

enum class CollectiveKind : uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, barrier };

/// What ranks show each other of a call: two calls are the same where these bytes are. Comes from peers, too,
/// so that nothing in it may be trusted.
struct CallHeader {
  uint64_t number = 0;      // of the call on this communicator
  int64_t count = 0;        // elements of a reduction, else bytes that every rank has in the end
  uint64_t sizes_hash = 0;  // of a gather's sizes
  uint64_t what_hash = 0;
  int32_t root = 0;
  CollectiveKind kind = CollectiveKind::barrier;
  CollectiveOp op = CollectiveOp::sum;
  DType dtype = DType::uint8;
  char what[57] = {};  // its beginning and its end, closed by a zero

  void set_what(std::string_view text);
};
static_assert(sizeof(CallHeader) == 96);

bool same_call(const CallHeader& a, const CallHeader& b);

/// What to tell those that are not.
inline constexpr const char* kSameCalls = "; all ranks have to make the same calls in the same order";

/// "all_reduce 'gradients 3' (sum of 12 float32)".
std::string call_text(const CallHeader& header);

/// Of bytes: the same on all machines and in all runs.
uint64_t stable_hash(const void* data, size_t bytes);

}  // namespace detail

}  // namespace nyala
