#include <nyala/backend/parameters/variable.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tape.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/parameters/distributed_variable.h>
#include <nyala/backend/parameters/parameter_store.h>
#include <nyala/backend/runtime/collectives.h>
#include <nyala/backend/runtime/context.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using Kind = VariableWrite::Kind;
using ops::ScatterKind;

VariableSpec spec_of(const VariableConfig& config) {
  const bool on_read = config.synchronization == Synchronization::on_read;
  VariableSpec spec;
  spec.name = spec.path = config.name.empty() ? "variable" : config.name;
  spec.shape = config.shape;
  spec.dtype = config.dtype.value_or(DType::float32);
  spec.trainable = config.trainable.value_or(!on_read);
  spec.synchronization = config.synchronization;
  spec.aggregation = config.aggregation;
  spec.initialize = config.initializer;
  spec.constraint = config.constraint;
  spec.autocast = config.autocast;
  if (!spec.shape.is_known())
    throw ShapeError("variable " + in_quotes(spec.path) + ": expected a shape without None, received " +
                     spec.shape.to_string());
  return spec;
}

VariableSpec spec_of(const Tensor& value, const VariableConfig& config) {
  VariableConfig with_value = config;
  const std::string name = config.name.empty() ? "variable" : config.name;
  if (config.initializer)
    throw InvalidArgumentError("variable " + in_quotes(name) +
                               ": expected a value or an initializer, received both");
  if (config.shape.rank() > 0 && config.shape != value.shape())
    throw ShapeError("variable " + in_quotes(name) + ": expected a value of shape " +
                     config.shape.to_string() + ", received " + value.shape().to_string());
  with_value.shape = value.shape();
  with_value.dtype = config.dtype.value_or(value.dtype());
  with_value.initializer = [value = ops::cast(value.detached(), *with_value.dtype)](const Tensor& host) {
    host.copy_from(value);
  };
  return spec_of(with_value);
}

VariableCreator& current_creator() {
  if (VariableCreator* creator = context_of_open_scopes().creator) return *creator;
  return *default_store(thread_context().device);
}

/// Inside a step the replicas make it once, from what replica 0 brings.
Variable make_here(const VariableSpec& spec) {
  Collectives* replicas = thread_context().replica;
  VariableCreator& creator = current_creator();
  Variable made;
  if (!replicas) {
    made = creator.create(spec);
    made.node().loose = true;
    return made;
  }
  replicas->barrier("making variable " + in_quotes(spec.path), &made,
                    [&](Collectives::Contributions contributions) {
                      const Variable variable = creator.create(spec);
                      variable.node().loose = true;
                      for (const void* contribution : contributions)
                        *static_cast<Variable*>(const_cast<void*>(contribution)) = variable;
                    });
  return made;
}

Tensor filled(const VariableNode& node, double value) {
  return Tensor::full(node.spec.shape, value, node.spec.dtype, Device{});
}

}  // namespace

std::string_view name_of(Synchronization synchronization) {
  switch (synchronization) {
    case Synchronization::automatic:
      return "auto";
    case Synchronization::none:
      return "none";
    case Synchronization::on_write:
      return "on_write";
    case Synchronization::on_read:
      return "on_read";
  }
  return "unknown";
}

std::string_view name_of(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::none:
      return "none";
    case Aggregation::sum:
      return "sum";
    case Aggregation::mean:
      return "mean";
    case Aggregation::only_first_replica:
      return "only_first_replica";
  }
  return "unknown";
}

Variable::Variable(const Tensor& initial_value, const VariableConfig& config)
    : Variable(make_here(spec_of(initial_value, config))) {}

Variable::Variable(double initial_value, const VariableConfig& config)
    : Variable(Tensor::full(config.shape, initial_value, config.dtype.value_or(DType::float32)), config) {}

Variable::Variable(std::initializer_list<NestedValues> initial_value, const VariableConfig& config)
    : Variable(Tensor(initial_value), config) {}

Variable::Variable(const VariableConfig& config) {
  if (!config.initializer)
    throw InvalidArgumentError("variable '" + (config.name.empty() ? "variable" : config.name) +
                               "': expected a value or an initializer, received neither");
  *this = make_here(spec_of(config));
}

Variable Variable::of(std::shared_ptr<VariableNode> node) {
  Variable variable;
  variable.node_ = std::move(node);
  return variable;
}

void detail::check_held(const VariableNode& node) {
  if (!node.loose || !node.trainable) return;
  const RunningCall* const running = thread_context().running;
  if (!running || !running->layer) return;  // a loop of the program's own
  throw StateError("variable " + in_quotes(node.spec.path) +
                   " is trainable, but no layer holds it: it would neither be trained nor saved. Write the "
                   "member as `Variable w = track(\"w\", Variable(...));`, or make it in build(), by "
                   "Builder::weight; one that is not to be trained needs {.trainable = false}");
}

Tensor Variable::value() const {
  check_held(node());
  const VariablePlace place = place_of(node());
  Tensor out = node().kind->read(node(), place);
  if (node().copies.size() > 1 && place.context != VariablePlace::Context::update) out.set_one_of_copies();
  Tape* tape = thread_context().tape;
  return tape && tape->recording && node().trainable ? tape->watch(out, node().leaf, &node()) : out;
}

void Variable::write(const VariableWrite& write) const {
  node().kind->write(node(), place_of(node()), checked(node(), write));
  node().note_write();
}

void Variable::assign(const Tensor& value) const { write({"assign", Kind::assign, value}); }
void Variable::assign_add(const Tensor& value) const { write({"assign_add", Kind::add, value}); }
void Variable::assign_sub(const Tensor& value) const { write({"assign_sub", Kind::subtract, value}); }

void Variable::assign(double value) const { write({"assign", Kind::assign, filled(node(), value), true}); }
void Variable::assign_add(double value) const {
  write({"assign_add", Kind::add, filled(node(), value), true});
}
void Variable::assign_sub(double value) const {
  write({"assign_sub", Kind::subtract, filled(node(), value), true});
}

void Variable::scatter_add(const Tensor& indices, const Tensor& values) const {
  write({"scatter_add", Kind::scatter, values, false, indices, ScatterKind::add});
}
void Variable::scatter_sub(const Tensor& indices, const Tensor& values) const {
  write({"scatter_sub", Kind::scatter, values, false, indices, ScatterKind::subtract});
}
void Variable::scatter_mul(const Tensor& indices, const Tensor& values) const {
  write({"scatter_mul", Kind::scatter, values, false, indices, ScatterKind::multiply});
}
void Variable::scatter_div(const Tensor& indices, const Tensor& values) const {
  write({"scatter_div", Kind::scatter, values, false, indices, ScatterKind::divide});
}
void Variable::scatter_min(const Tensor& indices, const Tensor& values) const {
  write({"scatter_min", Kind::scatter, values, false, indices, ScatterKind::minimum});
}
void Variable::scatter_max(const Tensor& indices, const Tensor& values) const {
  write({"scatter_max", Kind::scatter, values, false, indices, ScatterKind::maximum});
}
void Variable::scatter_update(const Tensor& indices, const Tensor& values) const {
  write({"scatter_update", Kind::scatter, values, false, indices, ScatterKind::update});
}

}  // namespace nyala
