#pragma once

namespace nyala {

/// How values of several replicas become one.
enum class ReduceOp { sum, mean };

}  // namespace nyala
