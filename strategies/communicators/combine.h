#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <nyala/backend/core/dtype.h>
#include <nyala/strategies/communicators/call_header.h>

namespace nyala::detail {

/// out[i] = ((sources[0][i] op sources[1][i]) op sources[2][i]) ... of at least two sources, as CollectiveOp
/// says. `out` overlaps no source but the first one, and that only where both begin at one place.
void combine(DType dtype, CollectiveOp op, std::span<const std::byte* const> sources, std::byte* out,
             int64_t count);

}  // namespace nyala::detail
