#include <nyala/strategies/adoptable.h>

#include <nyala/backend/parameters/variable_changes.h>
#include <nyala/strategies/assign_by_rows.h>
#include <nyala/strategies/contexts.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>

namespace nyala {

namespace {

/// A variable's twin in another store.
struct Move {
  Variable variable;
  Variable twin;
};

Tensor host_copy(const Variable& variable) {
  const Tensor host = Tensor::empty(variable.shape(), variable.dtype());
  host.copy_from(variable.value());
  return host;
}

Move prepare(const Variable& variable, ParameterStore& store, bool has_rows_of_batch) {
  VariableSpec spec = variable.node().spec;
  const Tensor value = host_copy(variable);
  spec.initialize = [&value](const Tensor& place) { place.copy_from(value); };
  Variable twin = store.create(spec);
  if (has_rows_of_batch)
    detail::assign_by_rows(twin, value);
  else
    twin.assign(value);  // of a sum over replicas each copy takes a share
  return {variable, twin};
}

// The twin goes with what the variable had: its memory returns to the old store.
void exchange(const Move& move) {
  VariableNode &node = move.variable.node(), &twin = move.twin.node();
  std::swap(node.kind, twin.kind);
  std::swap(node.copies, twin.copies);
  std::swap(node.home, twin.home);
  std::swap(node.in_arena, twin.in_arena);
  std::swap(node.segment, twin.segment);
  std::swap(node.leaf, twin.leaf);
  std::swap(node.owner, twin.owner);
  std::swap(node.plain, twin.plain);
  node.diverged = false;
  node.note_write();  // a tape that recorded the old bytes
}

}  // namespace

void detail::move_into(Adoptable& owner, const std::shared_ptr<StrategyNode>& strategy) {
  ParameterStore& store = strategy->store();
  std::vector<Move> moves;
  const auto add = [&](const Variables& variables, bool have_rows_of_batch) {
    for (const Variable& variable : variables)
      if (variable.node().owner.lock().get() != static_cast<SegmentOwner*>(&store))
        moves.push_back(prepare(variable, store, have_rows_of_batch));
  };
  add(owner.variables(), false);
  add(owner.hidden_state(), true);
  owner.leave_strategy();
  for (const Move& move : moves) exchange(move);
  if (ParameterServerJob* const job = strategy->parameter_server_job())
    for (const Move& move : moves) job->parameters().moved(move.twin, move.variable);
  if (!moves.empty()) note_variable_change();
  owner.enter_strategy(strategy);
}

}  // namespace nyala
