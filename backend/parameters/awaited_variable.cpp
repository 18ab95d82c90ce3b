// Being awaited is a kind of variable, of which there is one for each other kind, so that variables whose
// value is known need no look.
#include <nyala/backend/parameters/awaited_variable.h>

#include <array>

#include <nyala/backend/core/error.h>
#include <nyala/backend/parameters/aggregating_variable.h>
#include <nyala/backend/parameters/mirrored_variable.h>
#include <nyala/backend/parameters/sync_on_read_variable.h>

namespace nyala::detail {

namespace {

std::atomic<int64_t> awaited{0};

[[noreturn]] void refuse(const VariableNode& node) {
  throw StateError("variable " + in_quotes(node.spec.path) +
                   ": this process was started again after the others had trained it, and does not have its "
                   "value yet: that comes when the fit that the others are in begins here. Read, save and "
                   "call the model behind that fit, or load its weights from a file");
}

class AwaitedVariable final : public DistributedVariable {
 public:
  explicit AwaitedVariable(const DistributedVariable& known) : known_(known) {}
  const DistributedVariable& known() const { return known_; }

  std::string_view class_name() const override { return known_.class_name(); }
  Tensor read(const VariableNode& node, const VariablePlace&) const override { refuse(node); }
  void write(VariableNode& node, const VariablePlace& place, const VariableWrite& write) const override {
    if (write.kind != VariableWrite::Kind::assign) refuse(node);
    known_.write(node, place, write);
    node.kind = &known_;
    --awaited;
  }
  void rejoin(VariableNode& node) const override { known_.rejoin(node); }
  void fetch(const VariableNode& node) const override { known_.fetch(node); }

 private:
  const DistributedVariable& known_;
};

/// One for each kind.
const std::array<AwaitedVariable, 3>& awaited_kinds() {
  static const auto& kinds = *new std::array{AwaitedVariable(MirroredVariable::instance()),
                                             AwaitedVariable(SyncOnReadVariable::instance()),
                                             AwaitedVariable(AggregatingVariable::instance())};
  return kinds;
}

const AwaitedVariable* as_awaited(const DistributedVariable* kind) noexcept {
  for (const AwaitedVariable& one : awaited_kinds())
    if (&one == kind) return &one;
  return nullptr;
}

}  // namespace

void set_awaited(const Variable& variable, bool is_now) {
  VariableNode& node = variable.node();
  const AwaitedVariable* const before = as_awaited(node.kind);
  if (is_now == (before != nullptr)) return;
  if (before) {
    node.kind = &before->known();
    --awaited;
    return;
  }
  for (const AwaitedVariable& one : awaited_kinds())
    if (&one.known() == node.kind) {
      node.kind = &one;
      ++awaited;
      return;
    }
}

bool is_awaited(const Variable& variable) noexcept { return as_awaited(variable.node().kind) != nullptr; }

bool any_is_awaited() noexcept { return awaited.load(std::memory_order_relaxed) > 0; }

void check_known(const Variables& variables) {
  for (const Variable& variable : variables)
    if (is_awaited(variable)) refuse(variable.node());
}

}  // namespace nyala::detail
