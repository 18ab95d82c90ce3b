// Where copies share their memory there is one set of bytes (home) and copies are views of it. A replica that
// writes alone takes a copy of its own first, since others may be reading; the next update or assignment
// brings the copies together from the first one.
#include <nyala/backend/parameters/mirrored_variable.h>

#include <nyala/backend/core/undying.h>

namespace nyala {

using namespace nyala::detail;

const MirroredVariable& MirroredVariable::instance() {
  static const detail::Undying<MirroredVariable> kind;
  return *kind;
}

Tensor MirroredVariable::read(const VariableNode& node, const VariablePlace& place) const {
  return own_copy(node, place);
}

void MirroredVariable::write(VariableNode& node, const VariablePlace& place,
                             const VariableWrite& write) const {
  check_scatter(node, write);
  if (place.context == VariablePlace::Context::cross_replica) {
    if (write.kind == VariableWrite::Kind::assign && node.diverged && node.home.defined()) rejoin(node);
    write_all(node, write);
    if (write.kind == VariableWrite::Kind::assign) node.diverged = false;
    return;
  }
  if (place.context == VariablePlace::Context::update) {
    if (node.home.defined()) return write_all(node, write);
    if (node.copies.size() > 1) node.diverged = true;
    return apply(write, node.copies.at(static_cast<size_t>(place.local_index)));
  }
  check_own_strategy(node, place, write);
  if (!place.others || node.spec.aggregation == Aggregation::none)
    return write_alone(node, place.local_index, write);
  write_together(node, place, write);
}

// Bytes that replicas share stay as they are until the copies come together again: others may be reading
// them. Each thread replaces only its own replica's copy.
void MirroredVariable::write_alone(VariableNode& node, int replica, const VariableWrite& write) {
  Tensor& copy = node.copies.at(static_cast<size_t>(replica));
  if (node.copies.size() > 1) {
    if (node.home.defined() && copy.raw() == node.home.raw()) copy = copy.clone();
    node.diverged = true;
  }
  apply(write, copy);
}

void MirroredVariable::rejoin(VariableNode& node) const {
  const Tensor first = node.copies[0];
  if (node.home.defined() && first.raw() != node.home.raw()) node.home.copy_from(first);
  for (Tensor& copy : node.copies) {
    if (node.home.defined())
      copy = node.home.alias_on(copy.device());
    else if (copy.raw() != first.raw())
      copy.copy_from(first);
  }
  node.diverged = false;
}

}  // namespace nyala
