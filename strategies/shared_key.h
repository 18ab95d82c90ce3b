#pragma once

#include <cstdint>

namespace nyala {

class StrategyNode;

namespace detail {

/// next_unseeded_key(), the same on all processes of the strategy, which all ask for it: that of rank 0.
uint64_t next_shared_key(StrategyNode& strategy);

}  // namespace detail

}  // namespace nyala
