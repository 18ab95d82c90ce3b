// One exchange per step and server: gradients and changes of state go, all values come back, from all servers
// at the same time. State that layers assign (moving statistics) is not overwritten but added to, by as much
// as it has changed here, so that no worker's share is lost.
#include <nyala/strategies/parameter_server/remote_parameters.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/parameters/distributed_variable.h>
#include <nyala/backend/parameters/row_source.h>
#include <nyala/backend/parameters/sum_over_replicas.h>
#include <nyala/backend/parameters/sync_on_read_variable.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/system_random.h>
#include <nyala/strategies/parameter_server/remote_tables.h>
#include <nyala/strategies/rows/row_split.h>

namespace nyala::detail {

namespace {

constexpr uint64_t kStepsOfLoops = uint64_t{1} << 61;  // behind those that a chief begins
constexpr uint64_t kExchangesOfBatches = uint64_t{1} << 62;
constexpr int64_t kNextStepOfFunction = int64_t{1} << 40;  // more than there are functions

std::span<const std::byte> bytes_of_tensor(const Tensor& value) {
  return {static_cast<const std::byte*>(value.raw()), value.bytes()};
}

void check_can_be_added(const Variable& variable) {
  const DType dtype = variable.dtype();
  if (dtype == DType::float32 || dtype == DType::float64 || dtype == DType::int32 || dtype == DType::int64)
    return;
  throw DTypeError("ParameterServerStrategy: the step changed variable " + in_quotes(variable.path()) +
                   " of dtype " + std::string(name_of(dtype)) +
                   "; expected state to which workers can add: float32, float64, "
                   "int32 or int64");
}

std::set<const VariableNode*> nodes_of(const Variables& variables) {
  std::set<const VariableNode*> nodes;
  for (const Variable& variable : variables) nodes.insert(&variable.node());
  return nodes;
}

Tensor value_here(const Variable& variable) {
  const bool is_read_together = variable.synchronization() == Synchronization::on_read;
  const VariableNode& node = variable.node();
  return (is_read_together ? SyncOnReadVariable::read_here(node) : node.copies[0]).to(Device{});
}

}  // namespace

/// What a step here updates by.
class RemoteParameters::Rule final : public UpdateRule {
 public:
  Rule(RemoteParameters& parameters, UpdateRule& rule, ParameterStore& store)
      : parameters_(parameters), rule_(rule), store_(store) {}

  const Variables& variables() const override { return rule_.variables(); }
  /// Servers count steps and gather gradients; only what the last step left out is forgotten here.
  bool begin_step() override {
    rule_.begin_step();
    parameters_.tables_->begin_step();
    return true;
  }
  bool accumulates_into_existing() const override { return false; }
  void apply(const UpdatePlace&) override {
    parameters_.exchange(store_, rule_.variables(), rule_.updated());
  }
  void end_step() override {}

 private:
  RemoteParameters& parameters_;
  UpdateRule& rule_;
  ParameterStore& store_;
};

RemoteParameters::RemoteParameters(std::vector<std::unique_ptr<ParameterConnection>> servers, Options options)
    : servers_(std::move(servers)),
      options_(std::move(options)),
      process_(system_random() | 1),  // even ones are the job's
      versions_(servers_.size(), 0),
      lives_(servers_.size(), 0),
      placement_(static_cast<int>(std::max<size_t>(servers_.size(), 1)), options_.partitioner),
      tables_(std::make_shared<RemoteTables>(*this, options_.remote_rows_above)) {
  if (servers_.empty()) throw InvalidArgumentError("parameter servers: expected at least one, received none");
}

RemoteParameters::~RemoteParameters() = default;

RemoteParameters::Known& RemoteParameters::known(const Variable& variable) {
  const auto found = by_node_.find(&variable.node());
  if (found == by_node_.end() || found->second->node.lock().get() != &variable.node())
    throw StateError("variable " + in_quotes(variable.path()) + " was not made under this strategy");
  return *found->second;
}

RemoteParameters::Asking RemoteParameters::asking(ParameterCallKind kind) const {
  Asking asking(servers_.size());
  for (Asked& asked : asking) {
    asked.request.kind = kind;
    asked.request.job = job_;
  }
  return asking;
}

std::string RemoteParameters::name_of_part(const Known& known, const VariablePart& part) const {
  if (placement_.parts_of(known.number).size() == 1) return known.name;
  return known.name + "/part_" + std::to_string(part.part);
}

void RemoteParameters::add(Asking& asking, Known& known, const Variable& variable, Sends sends,
                           const Tensor& sent) {
  const std::byte* bytes = sends == Sends::nothing ? nullptr : bytes_of_tensor(sent).data();
  for (const VariablePart& part : placement_.parts_of(known.number)) {
    Asked& asked = asking[static_cast<size_t>(part.server)];
    asked.places.emplace_back(&known, &part);
    asked.request.entries.push_back(
        {.name = name_of_part(known, part),
         .dtype = variable.dtype(),
         .shape = part.shape,
         .trainable = sends == Sends::gradient || (sends == Sends::nothing && variable.node().in_arena),
         .is_there = sends != Sends::nothing});
    if (sends == Sends::nothing) continue;
    const uint64_t size = asked.request.entries.back().bytes();
    asked.sent.emplace_back(bytes, size);
    bytes += size;
  }
}

namespace {

ReceivedBytes checked_places(const ReceivedBytes& places, uint64_t bytes) {
  uint64_t expected = 0;
  for (const std::span<std::byte> place : places) expected += place.size();
  if (expected != bytes)
    throw CommunicationError("parameter servers: expected " + std::to_string(expected) +
                             " bytes of rows, received " + std::to_string(bytes));
  return places;
}

}  // namespace

std::unique_ptr<ParameterCall> RemoteParameters::start(size_t server, Asked& asked,
                                                       std::chrono::milliseconds timeout) {
  return servers_[server]->start(
      encode(asked.request), asked.sent,
      [&asked](const std::string&, uint64_t bytes) {
        if (!asked.into.empty()) return checked_places(asked.into, bytes);
        asked.received.resize(bytes);
        return ReceivedBytes{std::span(asked.received)};
      },
      timeout);
}

// Whatever is asked may be asked twice: an exchange has its number, everything else sets what it sets.
void RemoteParameters::ask(Asking& asking, bool all, bool brings_values) {
  try {
    ask_all(asking, all, brings_values);
  } catch (const CommunicationError&) {
    if (!is_cancelled_) throw;
    throw PeerLostError("ParameterServerStrategy: the chief is gone, and the job with it");
  }
}

void RemoteParameters::ask_all(Asking& asking, bool all, bool brings_values) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  std::vector<std::unique_ptr<ParameterCall>> calls(asking.size());
  for (size_t server = 0; server < asking.size(); ++server)
    if (!asking[server].request.entries.empty() || all)
      calls[server] = start(server, asking[server], options_.timeout);
  for (size_t server = 0; server < asking.size(); ++server) {
    while (calls[server]) {
      try {
        asking[server].reply = decode_parameter_reply(calls[server]->wait());
        calls[server].reset();
      } catch (const PeerLostError&) {
        if (is_cancelled_ || std::chrono::steady_clock::now() > deadline) throw;
        std::this_thread::sleep_for(kPause);
        calls[server] = start(server, asking[server], options_.timeout);
      }
    }
    if (brings_values && asking[server].reply.life) versions_[server] = asking[server].reply.version;
  }
}

namespace {

/// What servers could not do as one device does is refused when it is made.
void check_can_be_remote(const Variable& variable) {
  const VariableNode& node = variable.node();
  const bool has_no_whole =
      variable.synchronization() == Synchronization::on_read &&
      (variable.aggregation() == Aggregation::sum || variable.aggregation() == Aggregation::none);
  if (has_no_whole && node.copies.size() > 1)
    throw InvalidArgumentError("ParameterServerStrategy: variable " + in_quotes(variable.path()) +
                               " has a part in each replica (read together, aggregation sum or none), and "
                               "this process has " +
                               std::to_string(node.copies.size()) + " devices; expected one");
}

}  // namespace

void RemoteParameters::created(const Variable& variable) {
  const VariableNode& node = variable.node();
  check_can_be_remote(variable);
  const int count = ++names_[node.spec.path];
  auto made = std::make_unique<Known>();
  made->node = std::static_pointer_cast<VariableNode>(variable.node().shared_from_this());
  made->path = node.spec.path;
  made->name = count == 1 ? node.spec.path : node.spec.path + "#" + std::to_string(count);
  made->owner = node.owner.lock().get();
  made->number = placement_.add({variable.shape(), variable.dtype()});
  Known& entry = *known_.emplace_back(std::move(made));
  by_node_[&node] = &entry;
  Asking asking = this->asking(ParameterCallKind::create);
  const Tensor value = value_here(variable);
  add(asking, entry, variable, Sends::value, value);
  for (Asked& asked : asking)
    for (ParameterEntry& of_part : asked.request.entries) of_part.trainable = node.in_arena;
  ask(asking);
  const auto has_others = [](const Asked& asked) {
    return std::ranges::any_of(asked.reply.entries, &ParameterEntry::is_there);
  };
  if (std::ranges::any_of(asking, has_others)) {
    Asking values = this->asking(ParameterCallKind::pull);
    add(values, entry, variable);
    ask(values);
    take_values(values);
    return;
  }
  entry.written = node.written();
  if (!node.in_arena) entry.base = value.clone();
}

void RemoteParameters::moved(const Variable& twin, const Variable& variable) {
  Known& entry = known(twin);
  by_node_.erase(&twin.node());
  entry.node = std::static_pointer_cast<VariableNode>(variable.node().shared_from_this());
  by_node_[&variable.node()] = &entry;
}

/// Those that are there, and have not moved to another strategy.
std::vector<std::pair<RemoteParameters::Known*, Variable>> RemoteParameters::living() {
  std::vector<std::pair<Known*, Variable>> all;
  for (const auto& known : known_)
    if (auto node = known->node.lock(); node && node->owner.lock().get() == known->owner)
      all.emplace_back(known.get(), Variable::of(std::move(node)));
  return all;
}

bool RemoteParameters::publish() {
  Asking asking = this->asking(ParameterCallKind::assign);
  Tensors values;
  for (const auto& [known, variable] : living()) {
    if (variable.node().written() == known->written) continue;
    values.push_back(value_here(variable));
    add(asking, *known, variable, Sends::value, values.back());
  }
  ask(asking);
  for (const auto& [known, variable] : living()) {
    if (variable.node().written() == known->written) continue;
    known->written = variable.node().written();
    if (!variable.node().in_arena) known->base = value_here(variable).clone();
  }
  return !values.empty();
}

void RemoteParameters::pull() {
  Asking asking = this->asking(ParameterCallKind::pull);
  for (const auto& [known, variable] : living()) add(asking, *known, variable);
  if (meet_)
    for (Asked& asked : asking) asked.request.piece = piece_;
  ask(asking);
  if (meet_ && !is_loop_step_) check_is_first(asking);
  take_values(asking);
}

/// Another worker may have the same piece, and be further.
void RemoteParameters::check_is_first(const Asking& asking) {
  piece_is_lost_ = std::ranges::any_of(asking, [this](const Asked& asked) {
    return !asked.request.entries.empty() && asked.reply.number != static_cast<double>(piece_.part);
  });
  if (piece_is_lost_)
    throw CommunicationError("parameter servers: another worker is further with this piece of a step");
}

void RemoteParameters::take_values(const Asking& asking) {
  for (const Asked& asked : asking) {
    const std::byte* value = asked.received.data();
    for (size_t i = 0; i < asked.places.size(); ++i) {
      const auto& [known, part] = asked.places[i];
      if (auto node = known->node.lock()) write(*known, Variable::of(std::move(node)), *part, value);
      value += asked.request.entries[i].bytes();
    }
  }
}

void RemoteParameters::write(Known& known, const Variable& variable, const VariablePart& part,
                             const std::byte* value) {
  VariableNode& node = variable.node();
  const auto put = [&](const Tensor& whole) {
    if (whole.rank() == 0)
      whole.copy_from_host(value);
    else
      whole.rows(part.rows.first, part.rows.count).copy_from_host(value);
  };
  if (!node.in_arena) {
    if (!known.base.defined()) known.base = Tensor::empty(variable.shape(), variable.dtype(), Device{});
    put(known.base);
  }
  if (node.home.defined()) {
    put(node.home);
    after_update(variable);
  } else {
    for (const Tensor& copy : node.copies) put(copy);
    node.diverged = false;
    node.note_write();
  }
  known.written = node.written();
}

bool RemoteParameters::set_rule(const RuleOfServers& rule, bool if_none) {
  Asking asking = this->asking(ParameterCallKind::set_rule);
  for (const Variable& variable : rule.variables)
    if (is_remote_table(variable.node()))
      tables_->name(asking, variable.node());
    else
      add(asking, known(variable), variable);
  for (Asked& asked : asking) {
    asked.request.rule = rule.name;
    asked.request.text = rule.text;
    asked.request.names = rule.no_decay;
    asked.request.id = if_none ? 1 : 0;
  }
  ask(asking, true);
  return std::ranges::any_of(asking, [](const Asked& asked) { return asked.reply.number != 0.0; });
}

void RemoteParameters::set_learning_rates(const Rates& rates, const std::string& rule) {
  for (size_t member = 0; member < rates.size(); ++member) {
    if (rates[member] < 0.0) continue;
    Asking asking = this->asking(ParameterCallKind::set_rate);
    for (Asked& asked : asking) {
      asked.request.number = rates[member];
      asked.request.id = member;
      asked.request.rule = rule;
    }
    ask(asking, true);
  }
}

namespace {

/// What names of a variable's tensors in an optimizer begin with.
std::string in_optimizer(std::string path) {
  std::ranges::replace(path, '/', '_');
  return path + "_";
}

}  // namespace

/// The variable with the longest name that fits: another one's may be the beginning of it.
std::optional<RemoteParameters::StatePlace> RemoteParameters::place_of_state(const std::string& name) const {
  std::optional<StatePlace> place;
  size_t longest = 0;
  for (const auto& known : known_)
    for (const VariablePart& part : placement_.parts_of(known->number)) {
      const std::string begin = in_optimizer(name_of_part(*known, part));
      if (begin.size() <= longest || !name.starts_with(begin)) continue;
      longest = begin.size();
      place = {known.get(), &part, in_optimizer(known->path) + name.substr(begin.size())};
    }
  return place;
}

namespace {

/// Rates are the same on all servers. One whose variables had no gradients has counted fewer updates.
void take_common_state(Tensor& state, const Tensor& of_server) {
  const bool counts = of_server.dtype() == DType::int64 && of_server.rank() == 0;
  if (!state.defined() || (counts && of_server.item() > state.item())) state = of_server;
}

}  // namespace

RemoteParameters::RuleState RemoteParameters::rule_state(const std::string& name, StateParts wanted) {
  Asking asking = this->asking(ParameterCallKind::state);
  for (Asked& asked : asking) {
    asked.request.rule = name;
    asked.request.id = wanted == StateParts::numbers ? 1 : 0;
  }
  ask(asking, true, wanted == StateParts::all);
  RuleState rule;
  std::map<std::string, std::map<int, Tensor>> parts;
  std::set<std::string> names;
  for (const Asked& asked : asking) {
    if (rule.text.empty()) rule.text = asked.reply.text;
    names.insert(asked.reply.names.begin(), asked.reply.names.end());
    const std::byte* value = asked.received.data();
    for (const ParameterEntry& entry : asked.reply.entries) {
      Tensor tensor = Tensor::empty(entry.shape, entry.dtype, Device{});
      tensor.copy_from_host(value);
      value += entry.bytes();
      if (const auto place = place_of_state(entry.name))
        parts[place->name][place->part->part] = tensor;
      else
        take_common_state(rule.tensors[entry.name], tensor);
    }
  }
  for (const auto& [name, of_parts] : parts) {
    Tensors pieces;
    for (const auto& [part, piece] : of_parts) pieces.push_back(piece);
    rule.tensors[name] =
        pieces.size() == 1 || pieces[0].rank() == 0 ? pieces[0] : ops::concatenate(pieces, 0);
  }
  for (const auto& [known, variable] : living())
    if (names.contains(name_of_part(*known, placement_.parts_of(known->number)[0])))
      rule.variables.push_back(variable);
  return rule;
}

std::vector<std::string> RemoteParameters::foreign_variables() {
  std::set<std::string> made;
  for (const auto& known : known_)
    for (const VariablePart& part : placement_.parts_of(known->number))
      made.insert(name_of_part(*known, part));
  Asking asking = this->asking(ParameterCallKind::describe);
  ask(asking, true);
  std::vector<std::string> foreign;
  for (const Asked& asked : asking)
    std::ranges::copy_if(asked.reply.names, std::back_inserter(foreign),
                         [&](const std::string& name) { return !made.contains(name); });
  return foreign;
}

/// As the optimizer here has it, cut where the variable is.
Tensor RemoteParameters::part_of_state(const std::map<std::string, Tensor>& state,
                                       const ParameterEntry& entry) const {
  const std::optional<StatePlace> place = place_of_state(entry.name);
  const auto whole = state.find(place ? place->name : entry.name);
  if (whole == state.end()) return {};
  if (!place || whole->second.rank() == 0 || placement_.parts_of(place->known->number).size() == 1)
    return whole->second;
  return whole->second.rows(place->part->rows.first, place->part->rows.count);
}

void RemoteParameters::load_rule_state(const std::map<std::string, Tensor>& state, bool if_new,
                                       const std::string& rule) {
  Asking have = this->asking(ParameterCallKind::state), asking = this->asking(ParameterCallKind::load_state);
  for (Asked& asked : have) asked.request.rule = rule;
  ask(have, true);
  for (size_t server = 0; server < have.size(); ++server)
    for (const ParameterEntry& entry : have[server].reply.entries) {
      const Tensor value = part_of_state(state, entry);
      if (!value.defined() || value.shape() != entry.shape || value.dtype() != entry.dtype)
        throw StateError("parameter servers: the optimizer here has no tensor " + in_quotes(entry.name) +
                         " of shape " + entry.shape.to_string() + ", which the server's has");
      asking[server].request.entries.push_back(entry);
      asking[server].sent.push_back(bytes_of_tensor(value));
    }
  for (Asked& asked : asking) {
    asked.request.id = if_new ? 1 : 0;
    asked.request.rule = rule;
  }
  ask(asking);
  if (rule.empty()) tables_->set_step(state);
}

void RemoteParameters::take_share(const StepPiece& piece, int64_t global_rows) {
  rows_of_step_ = global_rows;
  const std::vector<double> equal(static_cast<size_t>(piece.pieces), 1.0);
  const RowRange mine = split_rows(equal, global_rows)[static_cast<size_t>(piece.piece)];
  for (const auto& [known, variable] : living()) {
    if (!is_sum_over_replicas(variable)) continue;
    const Tensor& value = variable.node().copies[0];
    const Tensor share = Tensor::zeros(value.shape(), value.dtype(), value.device());
    const bool has_rows = value.rank() > 0 && value.shape()[0] == global_rows;
    if (has_rows && mine.count > 0)
      share.rows(mine.first, mine.count).copy_from(value.rows(mine.first, mine.count));
    if (!has_rows && piece.piece == 0) share.copy_from(value);
    variable.assign(share);
  }
}

// The n-th exchange of any function counts by the number of the function, that of any batch by the number of
// the batch: consecutive ones are a range, which servers remember in a few bytes. Processes have odd numbers.
std::pair<uint64_t, uint64_t> RemoteParameters::next_exchange() {
  if (batch_ != 0) {
    const uint64_t n = batch_exchanges_++;
    return {n == 0 ? 0 : kExchangesOfBatches + 2 * n, batch_};
  }
  if (function_ != 0) {
    thread_context().step += kNextStepOfFunction;
    return {2 * ++function_exchanges_, function_};
  }
  return {process_, ++own_exchanges_};
}

bool RemoteParameters::has_new_state(const Known& known, const Variable& variable) const {
  return !variable.node().in_arena && variable.node().written() != known.written;
}

void RemoteParameters::add_state(Asking& asking, Known& known, const Variable& variable, Tensors& changes) {
  const bool is_piece = piece_.id != 0;
  if (!is_piece) check_can_be_added(variable);
  changes.push_back(is_piece ? value_here(variable) : ops::subtract(value_here(variable), known.base));
  add(asking, known, variable, Sends::value, changes.back());
  if (!is_piece || !is_sum_over_replicas(variable)) return;
  for (Asked& asked : asking)
    for (size_t i = 0; i < asked.places.size(); ++i)
      asked.request.entries[i].is_share |= asked.places[i].first == &known;
}

namespace {

/// Ends the step of a loop, also where it fails.
class EndOfLoopStep {
 public:
  EndOfLoopStep(RemoteParameters& parameters, bool is_one) : parameters_(parameters), is_one_(is_one) {}
  ~EndOfLoopStep() {
    if (is_one_) parameters_.set_piece({});
  }
  EndOfLoopStep(const EndOfLoopStep&) = delete;
  EndOfLoopStep& operator=(const EndOfLoopStep&) = delete;

 private:
  RemoteParameters& parameters_;
  const bool is_one_;
};

}  // namespace

void RemoteParameters::exchange(ParameterStore& store, const Variables& of_rule, const Variables& active) {
  const EndOfLoopStep end(*this, is_loop_step_);
  const bool is_piece = piece_.id != 0;
  Asking asking = this->asking(is_piece ? ParameterCallKind::push_piece : ParameterCallKind::exchange);
  Tensors changes;
  const std::set<const VariableNode*> updated = nodes_of(of_rule), pushed = nodes_of(active);
  for (const auto& [known, variable] : living()) {
    if (variable.node().in_arena && !updated.contains(&variable.node())) continue;
    if (pushed.contains(&variable.node())) {
      changes.push_back(store.gradient(store.sum_place(0), variable).to(Device{}));
      add(asking, *known, variable, Sends::gradient, changes.back());
    } else if (has_new_state(*known, variable)) {
      add_state(asking, *known, variable, changes);
    } else if (!is_piece) {
      add(asking, *known, variable);
    }
  }
  for (Asked& asked : asking) asked.request.rule = rule_;
  if (is_piece) return push_piece(asking);
  const RemoteTables::Pushed rows = tables_->push(asking);
  carry_out(asking);
}

void RemoteParameters::push_state() {
  const bool is_piece = piece_.id != 0;
  Asking asking = this->asking(is_piece ? ParameterCallKind::push_piece : ParameterCallKind::exchange);
  Tensors changes;
  for (const auto& [known, variable] : living())
    if (has_new_state(*known, variable)) add_state(asking, *known, variable, changes);
  if (changes.empty()) return;
  is_piece ? push_piece(asking) : carry_out(asking);
}

void RemoteParameters::carry_out(Asking& exchange) {
  number(exchange);
  ask(exchange);
  take_values(exchange);
}

void RemoteParameters::set_piece(const StepPiece& piece, std::function<void()> meet) {
  piece_ = piece;
  meet_ = std::move(meet);
  piece_is_pushed_ = piece_is_lost_ = is_loop_step_ = false;
}

void RemoteParameters::check_has_no_sums() {
  for (const auto& [known, variable] : living())
    if (is_sum_over_replicas(variable))
      throw InvalidArgumentError("ParameterServerStrategy: variable " + in_quotes(variable.path()) +
                                 " is a sum over replicas (Aggregation::sum, read together), which loops by "
                                 "strategy.run() do not keep on parameter servers; train by fit()");
}

void RemoteParameters::begin_loop_step(const StepPiece& place, std::function<void()> meet) {
  StepPiece piece = place;
  piece.id = kStepsOfLoops + ++loop_steps_;
  set_piece(piece, std::move(meet));
  is_loop_step_ = true;
}

void RemoteParameters::push_piece(Asking& exchange) {
  if (!meet_ && std::exchange(piece_is_pushed_, true))
    throw StateError("ParameterServerStrategy: a step of fit() applies gradients a second time");
  for (Asked& asked : exchange) asked.request.piece = piece_;
  is_loop_step_ ? ask_in_loop(exchange) : ask(exchange, true);
  if (meet_) commit_part();
}

namespace {

[[noreturn]] void throw_loop_is_lost() {
  throw CommunicationError(
      "parameter servers: one was started again, and has lost what a loop of the program's own had trained; "
      "begin it anew from a checkpoint");
}

}  // namespace

// One that was started again refuses what it is asked because it knows nothing of the loop.
void RemoteParameters::ask_in_loop(Asking& asking) {
  try {
    ask(asking, true);
  } catch (const PeerLostError&) {
    throw;
  } catch (const CommunicationError&) {
    if (!restarts().empty()) throw_loop_is_lost();
    throw;
  }
}

// Whoever is first does it, for all. Nothing more changes there before all have come here again.
void RemoteParameters::commit_part() {
  meet_();
  if (is_loop_step_) {
    if (!commit(piece_)) throw_loop_is_lost();
    return pull();
  }
  Asking asking = this->asking(ParameterCallKind::commit_part);
  for (Asked& asked : asking) asked.request.piece = piece_;
  ask(asking, true);
  piece_is_lost_ = std::ranges::any_of(asking, [](const Asked& asked) { return asked.reply.number == 0.0; });
  if (piece_is_lost_)
    throw CommunicationError("parameter servers: one was started again, and has lost gradients of a step");
  ++piece_.part;
  pull();
  take_share(piece_, rows_of_step_);
}

void RemoteParameters::number(Asking& exchange) {
  const auto [process, id] = next_exchange();
  for (size_t server = 0; server < exchange.size(); ++server) {
    exchange[server].request.process = process;
    exchange[server].request.id = id;
    exchange[server].request.seen = versions_[server];
  }
}

UpdateRule& RemoteParameters::remote(UpdateRule& rule, ParameterStore& store) {
  std::unique_ptr<Rule>& remote = rules_[&rule];
  if (!remote) remote = std::make_unique<Rule>(*this, rule, store);
  return *remote;
}

bool RemoteParameters::commit(const StepPiece& any) {
  Asking asking = this->asking(ParameterCallKind::commit);
  for (Asked& asked : asking) asked.request.piece = any;
  ask(asking, true);
  missing_pieces_.clear();
  bool is_done = true;
  for (size_t server = 0; server < asking.size(); ++server) {
    const ParameterReply& reply = asking[server].reply;
    is_done = is_done && reply.number != 0.0 && reply.life == lives_[server];
    if (reply.number == 0.0)
      missing_pieces_ +=
          (missing_pieces_.empty() ? "" : "; ") + ("server " + std::to_string(server)) + " has " + reply.text;
  }
  return is_done;
}

void RemoteParameters::restore(uint64_t mark) {
  Asking asking = this->asking(ParameterCallKind::restore);
  for (Asked& asked : asking) asked.request.id = mark;
  ask(asking, true);
  for (size_t server = 0; server < asking.size(); ++server)
    if (asking[server].reply.number == 0.0)
      throw CommunicationError("parameter server " + std::to_string(server) + " has no snapshot of step " +
                               std::to_string(mark) +
                               ", which another one that was lost goes on from; a synchronous training "
                               "cannot go on");
}

SnapshotState RemoteParameters::snapshot(uint64_t mark) {
  Asking asking = this->asking(ParameterCallKind::snapshot);
  for (size_t server = 0; server < asking.size(); ++server) {
    asking[server].request.id = mark;
    asking[server].request.seen = lives_[server];
  }
  ask(asking, true);
  const auto any_is = [&](SnapshotState state) {
    return std::ranges::any_of(
        asking, [=](const Asked& asked) { return asked.reply.number == static_cast<double>(state); });
  };
  if (any_is(SnapshotState::none)) return SnapshotState::none;
  if (!any_is(SnapshotState::failed)) return SnapshotState::written;
  log(LogChannel::warning,
      "a parameter server could not write its snapshot, and says why; the one before stays");
  return SnapshotState::failed;
}

std::vector<uint64_t> RemoteParameters::restarts() {
  Asking asking = this->asking(ParameterCallKind::describe);
  ask(asking, true);
  std::vector<uint64_t> marks;
  for (size_t server = 0; server < asking.size(); ++server) {
    const ParameterReply& reply = asking[server].reply;
    const uint64_t before = std::exchange(lives_[server], reply.life);
    if (before == 0 || before == reply.life) continue;
    if (reply.number < 0.0)
      throw CommunicationError("parameter server " + std::to_string(server) +
                               " was started again and has lost its variables: it had no snapshot of this "
                               "job; give serve_parameters() a folder for them");
    marks.push_back(static_cast<uint64_t>(reply.number));
  }
  return marks;
}

void RemoteParameters::cancel() noexcept {
  is_cancelled_ = true;
  for (const auto& server : servers_) server->cancel();
}

std::string RemoteParameters::describe() {
  Asking asking = this->asking(ParameterCallKind::describe);
  ask(asking, true);
  std::string text;
  std::vector<uint64_t> counts;
  for (size_t server = 0; server < asking.size(); ++server) {
    const ParameterReply& reply = asking[server].reply;
    text += "parameter server " + std::to_string(server) + ": " + reply.text + "\n";
    counts.resize(std::max(counts.size(), reply.counts.size()), 0);
    for (size_t i = 0; i < reply.counts.size(); ++i) counts[i] += reply.counts[i];
  }
  text += "staleness of gradients:";
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      text += " " + std::to_string(i) + (i + 1 == counts.size() ? " or more: " : ": ") +
              std::to_string(counts[i]) + ",";
  if (text.back() == ',') text.pop_back();
  return text + "\n";
}

// A server that is lost has ended, maybe before its answer had left, or will be ended by who started it.
void RemoteParameters::stop() noexcept {
  constexpr std::chrono::seconds kFarewell{2};
  try {
    Asking asking = this->asking(ParameterCallKind::stop);
    std::vector<std::unique_ptr<ParameterCall>> calls;
    for (size_t server = 0; server < asking.size(); ++server)
      calls.push_back(start(server, asking[server], kFarewell));
    for (const auto& call : calls) try {
        call->wait();
      } catch (const Error&) {
      }
  } catch (...) {  // memory that runs out
  }
}

}  // namespace nyala::detail
