// One exchange per step and server: gradients and changes of state go, all values come back, from all servers
// at the same time. State that layers assign (moving statistics) is not overwritten but added to, by as much as
// it has changed here, so that no worker's share is lost.
#include <nyala/strategies/parameter_server/remote_parameters.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/parameters/distributed_variable.h>

namespace nyala::detail {

namespace {

std::span<const std::byte> bytes_of_tensor(const Tensor& value) {
  return {static_cast<const std::byte*>(value.raw()), value.bytes()};
}

uint64_t drawn_process() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32 | device()) | 1;  // 0 is the job
}

bool can_be_added(const Variable& variable) {
  const DType dtype = variable.dtype();
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::int32 || dtype == DType::int64;
}

std::set<const VariableNode*> nodes_of(const Variables& variables) {
  std::set<const VariableNode*> nodes;
  for (const Variable& variable : variables) nodes.insert(&variable.node());
  return nodes;
}

Tensor value_here(const Variable& variable) { return variable.node().copies[0].to(Device{}); }

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
    : servers_(std::move(servers)), options_(options), process_(drawn_process()), versions_(servers_.size(), 0),
      lives_(servers_.size(), 0) {
  if (servers_.empty()) throw InvalidArgumentError("parameter servers: expected at least one, received none");
}

RemoteParameters::~RemoteParameters() = default;

RemoteParameters::Known& RemoteParameters::known(const Variable& variable) {
  const auto found = by_node_.find(&variable.node());
  if (found == by_node_.end() || found->second->node.expired())
    throw StateError("variable " + in_quotes(variable.path()) + " was not made under this strategy");
  return *found->second;
}

RemoteParameters::Asking RemoteParameters::asking(ParameterCallKind kind) const {
  Asking asking(servers_.size());
  for (Asked& asked : asking) asked.request.kind = kind;
  return asking;
}

ParameterEntry& RemoteParameters::add_entry(Asking& asking, Known& known, const Variable& variable) {
  Asked& asked = asking[known.server];
  asked.known.push_back(&known);
  asked.request.entries.push_back({.name = known.name,
                                   .dtype = variable.dtype(),
                                   .shape = variable.shape(),
                                   .trainable = variable.node().in_arena});
  return asked.request.entries.back();
}

void RemoteParameters::add_sent(Asking& asking, const Known& known, const Tensor& value) {
  asking[known.server].sent.push_back(bytes_of_tensor(value));
}

std::unique_ptr<ParameterCall> RemoteParameters::start(size_t server, Asked& asked) {
  return servers_[server]->start(
      encode(asked.request), asked.sent,
      [&asked](const std::string&, uint64_t bytes) {
        asked.received.resize(bytes);
        return ReceivedBytes{std::span(asked.received)};
      },
      options_.timeout);
}

// Whatever is asked may be asked twice: an exchange has its number, everything else sets what it sets.
void RemoteParameters::ask(Asking& asking, bool all) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  std::vector<std::unique_ptr<ParameterCall>> calls(asking.size());
  for (size_t server = 0; server < asking.size(); ++server)
    if (!asking[server].request.entries.empty() || all) calls[server] = start(server, asking[server]);
  for (size_t server = 0; server < asking.size(); ++server) {
    while (calls[server]) {
      try {
        asking[server].reply = decode_parameter_reply(calls[server]->wait());
        calls[server].reset();
      } catch (const PeerLostError&) {
        if (std::chrono::steady_clock::now() > deadline) throw;
        std::this_thread::sleep_for(kPause);
        calls[server] = start(server, asking[server]);
      }
    }
    if (asking[server].reply.life) versions_[server] = asking[server].reply.version;
  }
}

void RemoteParameters::created(const Variable& variable) {
  const VariableNode& node = variable.node();
  const int count = ++names_[node.spec.path];
  auto made = std::make_unique<Known>();
  made->node = std::static_pointer_cast<VariableNode>(variable.node().shared_from_this());
  made->name = count == 1 ? node.spec.path : node.spec.path + "#" + std::to_string(count);
  made->server = known_.size() % servers_.size();
  Known& entry = *known_.emplace_back(std::move(made));
  by_node_[&node] = &entry;
  Asking asking = this->asking(ParameterCallKind::create);
  add_entry(asking, entry, variable);
  const Tensor value = value_here(variable);
  add_sent(asking, entry, value);
  ask(asking);
  if (asking[entry.server].reply.entries.at(0).is_there) {
    Asking values = this->asking(ParameterCallKind::pull);
    add_entry(values, entry, variable);
    ask(values);
    take_values(values);
    return;
  }
  entry.written = node.written();
  if (!node.in_arena) entry.base = value.clone();
}

std::vector<std::pair<RemoteParameters::Known*, Variable>> RemoteParameters::living() {
  std::vector<std::pair<Known*, Variable>> all;
  for (const auto& known : known_)
    if (auto node = known->node.lock()) all.emplace_back(known.get(), Variable::of(std::move(node)));
  return all;
}

void RemoteParameters::publish() {
  Asking asking = this->asking(ParameterCallKind::assign);
  Tensors values;
  for (const auto& [known, variable] : living()) {
    if (variable.node().written() == known->written) continue;
    add_entry(asking, *known, variable);
    values.push_back(value_here(variable));
    add_sent(asking, *known, values.back());
  }
  ask(asking);
  for (const auto& [known, variable] : living()) {
    if (variable.node().written() == known->written) continue;
    known->written = variable.node().written();
    if (!variable.node().in_arena) known->base = value_here(variable).clone();
  }
}

void RemoteParameters::pull() {
  Asking asking = this->asking(ParameterCallKind::pull);
  for (const auto& [known, variable] : living()) add_entry(asking, *known, variable);
  ask(asking);
  take_values(asking);
}

void RemoteParameters::take_values(const Asking& asking) {
  for (const Asked& asked : asking) {
    const std::byte* value = asked.received.data();
    for (size_t i = 0; i < asked.known.size(); ++i) {
      if (auto node = asked.known[i]->node.lock())
        write(*asked.known[i], Variable::of(std::move(node)), value);
      value += asked.request.entries[i].bytes();
    }
  }
}

void RemoteParameters::write(Known& known, const Variable& variable, const std::byte* value) {
  VariableNode& node = variable.node();
  if (!node.in_arena) {
    if (!known.base.defined()) known.base = Tensor::empty(variable.shape(), variable.dtype(), Device{});
    known.base.copy_from_host(value);
  }
  if (node.home.defined()) {
    node.home.copy_from_host(value);
    after_update(variable);
  } else {
    for (const Tensor& copy : node.copies) copy.copy_from_host(value);
    node.note_write();
  }
  known.written = node.written();
}

void RemoteParameters::set_rule(const std::string& text, const std::vector<std::string>& no_decay,
                                const Variables& variables) {
  Asking asking = this->asking(ParameterCallKind::set_rule);
  for (const Variable& variable : variables) add_entry(asking, known(variable), variable);
  for (Asked& asked : asking) {
    asked.request.text = text;
    asked.request.names = no_decay;
  }
  ask(asking, true);
}

void RemoteParameters::set_learning_rate(double rate) {
  Asking asking = this->asking(ParameterCallKind::set_rate);
  for (Asked& asked : asking) asked.request.number = rate;
  ask(asking, true);
}

std::map<std::string, Tensor> RemoteParameters::rule_state() {
  Asking asking = this->asking(ParameterCallKind::state);
  ask(asking, true);
  std::map<std::string, Tensor> state;
  for (const Asked& asked : asking) {
    const std::byte* value = asked.received.data();
    for (const ParameterEntry& entry : asked.reply.entries) {
      Tensor tensor = Tensor::empty(entry.shape, entry.dtype, Device{});
      tensor.copy_from_host(value);
      value += entry.bytes();
      state[entry.name] = tensor;  // iteration and rate are the same everywhere
    }
  }
  return state;
}

void RemoteParameters::load_rule_state(const std::map<std::string, Tensor>& state) {
  Asking have = this->asking(ParameterCallKind::state), asking = this->asking(ParameterCallKind::load_state);
  ask(have, true);
  for (size_t server = 0; server < have.size(); ++server)
    for (const ParameterEntry& entry : have[server].reply.entries) {
      const auto found = state.find(entry.name);
      if (found == state.end() || found->second.shape() != entry.shape || found->second.dtype() != entry.dtype)
        throw StateError("parameter servers: the optimizer here has no tensor " + in_quotes(entry.name) +
                         " of shape " + entry.shape.to_string() + ", which the server's has");
      asking[server].request.entries.push_back(entry);
      asking[server].sent.push_back(bytes_of_tensor(found->second));
    }
  ask(asking);
}

void RemoteParameters::exchange(ParameterStore& store, const Variables& of_rule, const Variables& active) {
  Asking asking = this->asking(ParameterCallKind::exchange);
  Tensors changes;
  const std::set<const VariableNode*> updated = nodes_of(of_rule), pushed = nodes_of(active);
  for (const auto& [known, variable] : living()) {
    if (variable.node().in_arena && !updated.contains(&variable.node())) continue;
    ParameterEntry& entry = add_entry(asking, *known, variable);
    if (pushed.contains(&variable.node())) {
      entry.trainable = entry.is_there = true;
      changes.push_back(store.gradient(store.sum_place(0), variable).to(Device{}));
    } else if (variable.node().written() != known->written && can_be_added(variable)) {
      entry.trainable = false;
      entry.is_there = true;
      changes.push_back(ops::subtract(value_here(variable), known->base));
    } else {
      continue;
    }
    add_sent(asking, *known, changes.back());
  }
  const uint64_t id = next_exchange_ ? next_exchange_ : ++own_exchanges_;
  for (size_t server = 0; server < asking.size(); ++server) {
    asking[server].request.process = next_exchange_ ? 0 : process_;
    asking[server].request.id = id;
    asking[server].request.seen = versions_[server];
  }
  next_exchange_ = 0;
  ask(asking);
  take_values(asking);
}

UpdateRule& RemoteParameters::remote(UpdateRule& rule, ParameterStore& store) {
  std::unique_ptr<Rule>& remote = rules_[&rule];
  if (!remote) remote = std::make_unique<Rule>(*this, rule, store);
  return *remote;
}

bool RemoteParameters::snapshot(uint64_t mark) {
  Asking asking = this->asking(ParameterCallKind::snapshot);
  for (Asked& asked : asking) asked.request.id = mark;
  ask(asking, true);
  return std::ranges::all_of(asking, [](const Asked& asked) { return asked.reply.number != 0.0; });
}

std::vector<uint64_t> RemoteParameters::restarts() {
  Asking asking = this->asking(ParameterCallKind::describe);
  ask(asking, true);
  std::vector<uint64_t> marks;
  for (size_t server = 0; server < asking.size(); ++server) {
    const ParameterReply& reply = asking[server].reply;
    const uint64_t before = std::exchange(lives_[server], reply.life);
    if (before == 0 || before == reply.life) continue;
    if (reply.version == 0)
      throw CommunicationError("parameter server " + std::to_string(server) +
                               " was started again and has lost its variables: it had no snapshot; give "
                               "serve_parameters() a folder for them");
    marks.push_back(static_cast<uint64_t>(reply.number));
  }
  return marks;
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

void RemoteParameters::stop() noexcept {
  try {
    Asking asking = this->asking(ParameterCallKind::stop);
    ask(asking, true);
  } catch (...) {  // who does not hear it has ended, or will be ended
  }
}

}  // namespace nyala::detail
