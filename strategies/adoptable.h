#pragma once

#include <memory>

#include <nyala/backend/parameters/update_rule.h>

namespace nyala {

class StrategyNode;

/// Something that owns variables and can change to another strategy.
class Adoptable : public ParameterOwner {
 public:
  /// State with a row for each row of the batch, which moves, too, and is among no variables.
  virtual Variables hidden_state() const { return {}; }
  /// Called before its variables move.
  virtual void leave_strategy() = 0;
  /// Called after its variables have moved to `strategy`.
  virtual void enter_strategy(const std::shared_ptr<StrategyNode>& strategy) = 0;
};

namespace detail {

/// Moves an owner with its variables. Values and handles are kept; variables of `strategy` stay where they
/// are. Either all move or, where memory is short, none.
void move_into(Adoptable& owner, const std::shared_ptr<StrategyNode>& strategy);

}  // namespace detail

}  // namespace nyala
