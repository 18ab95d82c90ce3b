#pragma once

#include <nyala/strategies/strategy_node.h>

namespace nyala {

/// While it lives, strategy_of() finds `node` for the variables of `store`.
class StoreRegistration {
 public:
  StoreRegistration(ParameterStore& store, StrategyNode& node);
  ~StoreRegistration();
  StoreRegistration(const StoreRegistration&) = delete;
  StoreRegistration& operator=(const StoreRegistration&) = delete;

 private:
  const SegmentOwner* store_;
};

}  // namespace nyala
