#include <nyala/strategies/contexts.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/one_device.h>

namespace nyala {

using namespace nyala::detail;

namespace {

StrategyNode* open_strategy() { return static_cast<StrategyNode*>(context_of_open_scopes().strategy.get()); }

}  // namespace

std::shared_ptr<StrategyNode> detail::current_strategy() {
  auto open = std::static_pointer_cast<StrategyNode>(context_of_open_scopes().strategy);
  return open ? open : default_strategy(thread_context().is_placed() ? Device{} : thread_context().device);
}

bool has_strategy() {
  const StrategyNode* open = open_strategy();
  return open && !open->is_default();
}

ReplicaContext* get_replica_context() {
  ReplicaContext* inside = thread_context().replica_context;
  if (inside || has_strategy()) return inside;
  thread_local ReplicaContext alone;
  alone.device = thread_context().device;
  alone.node = default_strategy(alone.device).get();
  return &alone;
}

bool in_cross_replica_context() { return has_strategy() && !thread_context().replica_context; }

std::optional<int> get_update_replica_id() {
  const int replica = thread_context().update_replica;
  return replica < 0 ? std::nullopt : std::optional(replica);
}

void detail::check_cross_replica(const char* what) {
  if (const ReplicaContext* inside = thread_context().replica_context)
    throw StateError(std::string(what) + " was called inside replica " + std::to_string(inside->id) +
                     "; it belongs outside of run(): call it there, or in a function given to merge_call()");
}

void detail::check_not_mixed(const StrategyNode& node, const char* what) {
  const StrategyNode* open = open_strategy();
  if (open && open != &node)
    throw StateError(std::string(what) + " of " + node.name() + " was opened inside that of " + open->name() +
                     "; strategies cannot be mixed: close one before opening another");
}

StrategyScope::StrategyScope(std::shared_ptr<StrategyNode> node) {
  check_not_mixed(*node, "the scope");
  check_cross_replica("scope()");
  ThreadContext& context = thread_context();
  if (!context.strategy) {
    context.scopes = std::make_shared<std::atomic<int>>(0);
    context.creator = &node->store();
    context.strategy = std::move(node);
  }
  scopes_ = context.scopes;
  if (scopes_) ++*scopes_;
}

StrategyScope::~StrategyScope() {
  if (scopes_ && --*scopes_ == 0) context_of_open_scopes();
}

SavedContext::SavedContext()
    : tape_(thread_context().tape),
      creator_(thread_context().creator),
      strategy_(std::move(thread_context().strategy)),
      scopes_(std::move(thread_context().scopes)),
      replica_(thread_context().replica),
      replica_context_(thread_context().replica_context),
      running_(thread_context().running),
      update_replica_(thread_context().update_replica) {}

SavedContext::~SavedContext() {
  ThreadContext& context = thread_context();
  context.tape = tape_;
  context.creator = creator_;
  context.strategy = std::move(strategy_);
  context.scopes = std::move(scopes_);
  context.replica = replica_;
  context.replica_context = replica_context_;
  context.running = running_;
  context.update_replica = update_replica_;
}

InReplica::InReplica(ReplicaContext& replica) {
  ThreadContext& context = thread_context();
  context.tape = nullptr;
  context.creator = &replica.node->store();
  context.strategy = handle_on(*replica.node);
  context.scopes = nullptr;
  context.replica = replica.context;
  context.replica_context = &replica;
  context.running = nullptr;
  context.update_replica = -1;
}

InCrossReplica::InCrossReplica(StrategyNode& node) {
  ThreadContext& context = thread_context();
  context.tape = nullptr;
  context.creator = &node.store();
  context.strategy = handle_on(node);
  context.scopes = nullptr;
  context.replica = nullptr;
  context.replica_context = nullptr;
  context.running = nullptr;
  context.update_replica = -1;
}

InUpdate::InUpdate(StrategyNode& node, int replica) : cross_(node) {
  thread_context().update_replica = replica;
}

}  // namespace nyala
