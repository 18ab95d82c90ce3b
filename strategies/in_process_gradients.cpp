// optimizer.apply_gradients inside a step: two meetings, between which the replicas give their gradients to
// their buckets at the same time. Outside of replicas the gradients are those of the whole batch: replica 0
// brings them, the others bring none.
#include <algorithm>
#include <optional>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/status_word.h>
#include <nyala/strategies/in_process.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Contributions = Collectives::Contributions;

void check_lists(const GradientUpdate& update) {
  if (update.gradients.size() != update.variables.size())
    throw InvalidArgumentError("apply_gradients: expected one gradient per variable, received " +
                               std::to_string(update.gradients.size()) + " and " +
                               std::to_string(update.variables.size()));
  for (size_t i = 0; i < update.variables.size(); ++i) {
    const Variable& variable = update.variables[i];
    const Tensor& gradient = update.gradients[i];
    if (std::count(update.variables.begin(), update.variables.end(), variable) > 1)
      throw InvalidArgumentError("apply_gradients: variable " + in_quotes(variable.path()) +
                                 " is named twice");
    if (gradient.defined() && (gradient.shape() != variable.shape() || gradient.dtype() != variable.dtype()))
      throw ShapeError("apply_gradients: expected a gradient of " + in_quotes(variable.path()) +
                       " of shape " + variable.shape().to_string() + " and dtype " +
                       std::string(name_of(variable.dtype())) + ", received " + gradient.shape().to_string() +
                       " of " + std::string(name_of(gradient.dtype())));
  }
}

/// Gradients that were computed from an id or a label that does not exist change no weight. Who opened the
/// step's StatusScope says which.
void check_reports(std::optional<Device> device) {
  const StatusWords* reports = thread_context().status;
  if (reports && reports->has_report_on_host(device))
    throw NumericError("apply_gradients: the step met an id or a label out of range");
}

/// The variables for which the replicas have a gradient, all or none of them.
Variables with_gradients(const std::vector<const GradientUpdate*>& updates) {
  Variables out;
  for (size_t i = 0; i < updates[0]->variables.size(); ++i) {
    const Variable& variable = updates[0]->variables[i];
    const auto lacks = [i](const GradientUpdate* update) { return !update->gradients[i].defined(); };
    const auto missing = std::find_if(updates.begin(), updates.end(), lacks);
    if (missing == updates.end()) {
      out.push_back(variable);
    } else if (!std::all_of(updates.begin(), updates.end(), lacks)) {
      throw CommunicationError("apply_gradients: replica " + std::to_string(missing - updates.begin()) +
                               " brought no gradient for " + in_quotes(variable.path()) +
                               ", which others have; expected one of every replica, zeros where its rows "
                               "give none");
    }
  }
  if (out.empty()) throw InvalidArgumentError("apply_gradients: no gradients provided for any variable");
  return out;
}

std::vector<const GradientUpdate*> alike(Contributions contributions) {
  std::vector<const GradientUpdate*> updates;
  for (const void* contribution : contributions)
    updates.push_back(static_cast<const GradientUpdate*>(contribution));
  for (size_t id = 1; id < updates.size(); ++id) {
    if (updates[id]->optimizer != updates[0]->optimizer)
      throw InvalidArgumentError("apply_gradients: replicas 0 and " + std::to_string(id) +
                                 " came with different optimizers");
    if (updates[id]->variables != updates[0]->variables)
      throw InvalidArgumentError("apply_gradients: replicas 0 and " + std::to_string(id) +
                                 " came with different variables");
  }
  return updates;
}

}  // namespace

void InProcessStrategy::apply_gradients(const GradientUpdate& update) {
  check_lists(update);
  const ReplicaContext* inside = thread_context().replica_context;
  check_reports(inside && inside->num_replicas > 1 ? std::optional(inside->device) : std::nullopt);
  if (inside && inside->node != this && inside->num_replicas > 1)
    throw StateError("apply_gradients: the variables belong to " + name() + ", but this is a replica of " +
                     inside->node->name());
  if (inside && inside->node == this && run_has_rule_ && inside->gradients)
    throw StateError("apply_gradients: this step gives its gradients to an update rule already");
  if (inside && inside->node == this && inside->context)
    apply_together(*inside, update);
  else
    apply_alone(update);
}

// The replicas meet to begin, give their gradients to their sinks at the same time (the last one sums a
// bucket), and meet again to update. Weights are not read in between.
void InProcessStrategy::apply_together(const Replica& replica, const GradientUpdate& update) {
  replica.context->barrier("apply_gradients()", &update, [&](Contributions contributions) {
    begin_manual(acting(update.rule(with_gradients(alike(contributions)))), update.optimizer);
  });
  feed(replica.local_index, update);
  replica.context->barrier("apply_gradients()", &update, [this](Contributions) {
    finish_manual([this](const std::function<void(int)>& body) { group_.together(body); });
  });
}

// The gradients are those of the whole batch: replica 0 brings them, the others bring none. In merge_call the
// step that goes on has the turn already, and the replicas' threads wait in it.
void InProcessStrategy::apply_alone(const GradientUpdate& update) {
  const bool merged = runner_.load() == std::this_thread::get_id() && !thread_context().replica_context &&
                      thread_context().strategy.get() == this;
  std::optional<Turn> turn;
  if (!merged) turn.emplace(*this);
  begin_manual(acting(update.rule(with_gradients({&update}))), update.optimizer);
  if (first_replica() == 0)
    feed(0, update);
  else
    buckets_.finish(0);
  for (int index = 1; index < num_local_replicas(); ++index) buckets_.finish(index);
  finish_manual([this, merged](const std::function<void(int)>& body) {
    if (!merged) return in_slices(body);
    for (int slice = 0; slice < num_local_replicas(); ++slice) body(slice);
  });
}

// Optimizers that share variables share the place of their gradients.
void InProcessStrategy::claim_gradients(const UpdateRule& rule, const void* owner, bool applies,
                                        bool accumulates) {
  if (applies && !accumulates && gathered_.empty()) return;
  std::erase_if(gathered_, [](const auto& entry) { return entry.first.expired(); });
  for (const Variable& variable : rule.variables()) {
    const auto found = gathered_.find(variable.node().weak_from_this());
    if (accumulates && found != gathered_.end() && found->second.owner == owner && found->second.is_lost)
      throw StateError(
          "the gradients of variable " + in_quotes(variable.path()) +
          " that were gathered over steps are lost: another optimizer, of a model that shares the "
          "variable, has made a step since; train others after an update, or compile() the model "
          "again");
  }
  for (const Variable& variable : rule.variables()) {
    if (!applies) {
      gathered_[variable.node().weak_from_this()] = {owner};
    } else if (const auto found = gathered_.find(variable.node().weak_from_this());
               found != gathered_.end()) {
      found->second.is_lost = true;
      if (found->second.owner == owner) gathered_.erase(found);
    }
  }
}

void InProcessStrategy::begin_manual(UpdateRule& rule, const void* owner) {
  group_.check_complete("an update");
  const bool accumulate = rule.accumulates_into_existing();
  manual_ = &rule;
  manual_applies_ = rule.begin_step();
  claim_gradients(rule, owner, manual_applies_, accumulate);
  buckets_.begin(rule, manual_applies_, accumulate);
}

void InProcessStrategy::feed(int local_index, const GradientUpdate& update) {
  GradientSink& sink = buckets_.sink(local_index);
  for (size_t i = 0; i < update.variables.size(); ++i) {
    const Tensor& gradient = update.gradients[i];
    if (!gradient.defined()) continue;
    const int32_t leaf = update.variables[i].node().leaf;
    const Tensor place = sink.destination(leaf);
    if (place.defined()) {
      place.copy_from(gradient.detached());
      sink.ready(leaf, place);
    } else {
      sink.ready(leaf, this->place(gradient.detached(), local_index));
    }
  }
  buckets_.finish(local_index);
}

void InProcessStrategy::finish_manual(const InSlices& in_slices) {
  UpdateRule& rule = *manual_;
  buckets_.drain();
  if (manual_applies_)
    apply(rule, in_slices);
  else
    rule.end_gathering();
  store_->fetch(rule.variables());
}

}  // namespace nyala
