#pragma once

#include <memory>
#include <optional>

#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

/// Which context a thread is in:
///
/// | where                       | get_replica_context() | in_cross_replica_context() |
/// |-----------------------------|-----------------------|----------------------------|
/// | no strategy                 | replica 0 of 1        | false                      |
/// | in a strategy's scope       | null                  | true                       |
/// | in a function that run calls| that replica          | false                      |
/// | in merge_call's function    | null                  | true                       |
/// | in update's function        | null                  | true                       |

namespace detail {

/// The strategy whose scope or run is open on this thread, else the default: one replica on the current
/// device.
std::shared_ptr<StrategyNode> current_strategy();

}  // namespace detail

/// Whether a strategy other than the default is open on this thread.
bool has_strategy();
ReplicaContext* get_replica_context();
bool in_cross_replica_context();
/// The replica whose copy of a variable Strategy::update writes on this thread.
std::optional<int> get_update_replica_id();

namespace detail {

/// Throws StateError naming `what` inside a replica: such calls belong outside of run, or into merge_call.
void check_cross_replica(const char* what);
/// Throws StateError where another strategy's scope or run is open.
void check_not_mixed(const StrategyNode& node, const char* what);

}  // namespace detail

/// Keeps a strategy's scope open: variables made on this thread belong to it. Scopes of one strategy may be
/// nested and are counted, so the order in which they end does not matter; those of different strategies
/// cannot be nested at all. A scope that ends on another thread than it began on is closed on that first one.
class StrategyScope {
 public:
  /// Throws StateError inside another strategy's scope, or inside run.
  explicit StrategyScope(std::shared_ptr<StrategyNode> node);
  ~StrategyScope();
  StrategyScope(const StrategyScope&) = delete;
  StrategyScope& operator=(const StrategyScope&) = delete;

 private:
  std::shared_ptr<std::atomic<int>> scopes_;  // those of the thread it began on
};

/// Puts the thread's context back as it was.
class SavedContext {
 public:
  SavedContext();
  ~SavedContext();
  SavedContext(const SavedContext&) = delete;
  SavedContext& operator=(const SavedContext&) = delete;

 private:
  Tape* tape_;
  VariableCreator* creator_;
  std::shared_ptr<void> strategy_;
  std::shared_ptr<std::atomic<int>> scopes_;
  Collectives* replica_;
  ReplicaContext* replica_context_;
  const RunningCall* running_;
  int update_replica_;
};

/// Makes this thread a replica's for as long as it lives.
class InReplica {
 public:
  explicit InReplica(ReplicaContext& replica);

 private:
  SavedContext saved_;
};

/// Takes this thread out of its replica for as long as it lives.
class InCrossReplica {
 public:
  explicit InCrossReplica(StrategyNode& node);

 private:
  SavedContext saved_;
};

/// Marks the copy of a variable that is being updated.
class InUpdate {
 public:
  InUpdate(StrategyNode& node, int replica);

 private:
  InCrossReplica cross_;
};

}  // namespace nyala
