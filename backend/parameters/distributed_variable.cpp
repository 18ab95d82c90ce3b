// Where a thread is decides what a read or write means, as in tf.distribute: inside a replica its copy, in an
// update the copy that is updated, else the variable as a whole. Replicas that write one value meet, and one
// thread makes one write of all and applies it everywhere.
#include <nyala/backend/parameters/distributed_variable.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/variable_exchange.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>

namespace nyala {

using namespace nyala::detail;

VariablePlace detail::place_of(const VariableNode& node) {
  using Context = VariablePlace::Context;
  const ThreadContext& thread = thread_context();
  if (thread.update_replica >= 0) return {Context::update, thread.update_replica, nullptr};
  if (thread.replica) return {Context::replica, thread.replica->local_index(), thread.replica};
  if (thread.replica_context || node.plain) return {Context::replica, 0, nullptr};
  return {};
}

Tensor detail::copy_to_update(const Variable& variable, int copy) {
  VariableNode& node = variable.node();
  if (node.home.defined() && node.diverged) node.kind->rejoin(node);
  return node.home.defined() ? node.home : node.copies.at(static_cast<size_t>(copy));
}

void detail::after_update(const Variable& variable) {
  VariableNode& node = variable.node();
  node.note_write();
  if (node.home.defined())
    node.kind->fetch(node);
  else if (node.copies.size() > 1)
    node.diverged = true;
}

const Tensor& DistributedVariable::own_copy(const VariableNode& node, const VariablePlace& place) {
  return node.copies[static_cast<size_t>(place.local_index) % node.copies.size()];
}

void DistributedVariable::write_all(const VariableNode& node, const VariableWrite& write) {
  const void* written = nullptr;
  if (node.home.defined()) {
    apply(write, node.home);
    written = node.home.raw();
  }
  for (const Tensor& copy : node.copies)
    if (!written || copy.raw() != written) apply(write, copy);
}

void DistributedVariable::write_together(VariableNode& node, const VariablePlace& place,
                                         const VariableWrite& write) {
  const std::string what = place_of(node, write);
  place.others->barrier(what, &write, [&](Collectives::Contributions contributions) {
    std::vector<const VariableWrite*> writes;
    for (const void* contribution : contributions)
      writes.push_back(static_cast<const VariableWrite*>(contribution));
    const Tensor& first = node.home.defined() ? node.home : node.copies[0];
    ProcessExchange* const processes = place.others->processes();
    node.kind->write(node, {},
                     processes ? reduce_writes_of_all(node, writes, first.device(), *processes)
                               : reduce_writes(node, writes, first.device()));
  });
}

void DistributedVariable::check_own_strategy(const VariableNode& node, const VariablePlace& place,
                                             const VariableWrite& write) {
  const size_t replicas = place.others ? static_cast<size_t>(place.others->num_local_replicas()) : 1;
  if (node.copies.size() == replicas && !(node.plain && replicas > 1)) return;
  throw StateError(place_of(node, write) + "the variable has " + std::to_string(node.copies.size()) +
                   (node.copies.size() == 1 ? " copy" : " copies") + ", but " + std::to_string(replicas) +
                   " replicas are running; make it in the scope of the strategy that runs them");
}

void DistributedVariable::check_scatter(const VariableNode& node, const VariableWrite& write) {
  using ops::ScatterKind;
  if (write.kind != VariableWrite::Kind::scatter) return;
  const bool picks = write.scatter == ScatterKind::minimum || write.scatter == ScatterKind::maximum ||
                     write.scatter == ScatterKind::update;
  const Aggregation aggregation = node.spec.aggregation;
  if (picks && !node.plain && (aggregation == Aggregation::sum || aggregation == Aggregation::mean))
    throw InvalidArgumentError(place_of(node, write) + "not possible with aggregation " +
                               std::string(name_of(aggregation)) + "; expected none or only_first_replica");
}

}  // namespace nyala
