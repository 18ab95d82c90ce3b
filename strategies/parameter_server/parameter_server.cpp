// The payload of a call is taken whole before anything is changed: a push that breaks off has never been. The
// gradients of one push lie in the store's gradient arena while the rule, an optimizer like any other, is
// applied to them.
#include <nyala/strategies/parameter_server/parameter_server.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <tuple>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/system_random.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/strategies/communicators/combine.h>
#include <nyala/strategies/parameter_server/server_snapshot.h>

namespace nyala::detail {

namespace {

constexpr size_t kStalenessCounts = 65;

std::string text_of(const ParameterEntry& entry) {
  return in_quotes(entry.name) + " of shape " + entry.shape.to_string() + " and dtype " +
         std::string(name_of(entry.dtype));
}

/// A tensor that reads or writes bytes of a payload.
Tensor on_host(const ParameterEntry& entry, const std::byte* bytes) {
  Tensor value = Tensor::empty(entry.shape, entry.dtype, Device{});
  if (entry.bytes() > 0) std::memcpy(value.raw(), bytes, entry.bytes());
  return value;
}

/// What is asked of tables is not asked of other variables.
void check_tables(const ParameterRequest& request) {
  const bool by_rows =
      request.kind == ParameterCallKind::pull_rows || request.kind == ParameterCallKind::assign_rows;
  const bool both =
      request.kind == ParameterCallKind::exchange || request.kind == ParameterCallKind::set_rule;
  for (const ParameterEntry& entry : request.entries)
    if (entry.is_table() != by_rows && !(both && entry.is_table()))
      throw CommunicationError("parameter server: " + in_quotes(entry.name) +
                               (by_rows ? ": expected rows of a table" : ": expected no table"));
}

std::vector<ParameterEntry> without_tables(const std::vector<ParameterEntry>& entries) {
  std::vector<ParameterEntry> others;
  std::ranges::copy_if(entries, std::back_inserter(others),
                       [](const ParameterEntry& entry) { return !entry.is_table(); });
  return others;
}

}  // namespace

/// Memory that an earlier call took its payload in. Calls may end after the server.
class ParameterServer::KeptBuffer {
 public:
  Bytes take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(buffer_, {});
  }
  void keep(Bytes buffer) noexcept {
    constexpr size_t kMostKept = size_t{8} << 20;
    const std::lock_guard lock(mutex_);
    if (buffer.capacity() > buffer_.capacity() && buffer.capacity() <= kMostKept) buffer_.swap(buffer);
  }

 private:
  std::mutex mutex_;
  Bytes buffer_;
};

/// Takes one call: its payload lies here until all of it has come.
class ParameterServer::Receiver final : public ParameterReceiver {
 public:
  Receiver(ParameterServer& server, const std::string& header)
      : server_(server), buffer_(server.buffer_), request_(decode_parameter_request(header)) {
    check_tables(request_);
  }
  ~Receiver() override { buffer_->keep(std::move(payload_)); }

  ReceivedBytes place(uint64_t bytes) override {
    if (bytes != expected())
      throw CommunicationError("parameter server: expected " + std::to_string(expected()) +
                               " bytes of values, received " + std::to_string(bytes));
    payload_ = buffer_->take();
    payload_.resize(bytes);
    return {std::span(payload_)};
  }

  void finish(std::function<void(ParameterAnswer)> answer,
              std::function<void(const std::string&)> refuse) override {
    ParameterAnswer out;
    try {
      const ParameterReply reply = server_.carry_out(request_, payload_, out);
      out.header = encode(reply);
      out.bytes = payload_bytes_of(reply);
    } catch (const std::exception& error) {
      return refuse(error.what());
    }
    answer(std::move(out));
  }

 private:
  uint64_t expected() const {
    switch (request_.kind) {
      case ParameterCallKind::create:
      case ParameterCallKind::assign:
      case ParameterCallKind::load_state:
      case ParameterCallKind::assign_rows:
        return payload_bytes(request_.entries);
      case ParameterCallKind::pull_rows:
        return payload_bytes(request_.entries) - bytes_of_rows();
      case ParameterCallKind::exchange:
      case ParameterCallKind::push_piece:
        return sent_bytes(request_.entries);
      default:
        return 0;
    }
  }
  uint64_t payload_bytes_of(const ParameterReply& reply) const {
    switch (request_.kind) {
      case ParameterCallKind::pull:
      case ParameterCallKind::exchange:
      case ParameterCallKind::state:
        return payload_bytes(reply.entries);
      case ParameterCallKind::pull_rows:
        return bytes_of_rows();
      default:
        return 0;
    }
  }

  uint64_t bytes_of_rows() const {
    uint64_t total = 0;
    for (const ParameterEntry& entry : request_.entries) total += entry.bytes_of_rows();
    return total;
  }

  ParameterServer& server_;
  const std::shared_ptr<KeptBuffer> buffer_;
  ParameterRequest request_;
  Bytes payload_;
};

ParameterServer::ParameterServer(ServerRuleReader read_rule, std::string snapshot_path,
                                 RowFillerReader read_filler)
    : read_rule_(std::move(read_rule)),
      snapshot_path_(std::move(snapshot_path)),
      life_(system_random()),
      buffer_(std::make_shared<KeptBuffer>()),
      store_(ParameterStore::make({Device{}}, true)),
      tables_(std::move(read_filler)),
      staleness_(kStalenessCounts, 0) {
  if (snapshot_path_.empty()) return;
  for (const std::string& path : {snapshot_path_, path_before()}) {
    if (!is_there(path)) continue;
    naming_file(path, [&] { go_on_from(path); });
    return;
  }
}

ParameterServer::~ParameterServer() = default;

std::shared_ptr<ParameterReceiver> ParameterServer::begin(std::string header) {
  return std::make_shared<Receiver>(*this, header);
}

bool ParameterServer::wait_until_stopped(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return stopped_changed_.wait_for(lock, time, [this] { return stopped_; });
}

void ParameterServer::belong_to(uint64_t job) {
  if (job == job_) return;
  if (past_jobs_.contains(job))
    throw CommunicationError(
        "parameter server: another chief has come since; this process belongs to the one before it");
  const uint64_t before = std::exchange(job_, job);
  if (before == 0) return;
  past_jobs_.insert(before);
  if (!variables_.empty())
    log(LogChannel::warning, "parameter server: another chief has come; the " +
                                 std::to_string(variables_.size()) +
                                 " variables of the one before are forgotten");
  forget();
}

void ParameterServer::forget() {
  variables_.clear();
  rules_.clear();
  rates_.clear();
  before_.reset();
  has_committed_ = false;
  store_ = ParameterStore::make({Device{}}, true);
  tables_.clear();
  version_ = repeated_ = 0;
  applied_.clear();
  pieces_ = {};
  staleness_.assign(kStalenessCounts, 0);
  began_with_.reset();
  last_mark_.reset();
}

ParameterReply ParameterServer::carry_out(const ParameterRequest& request, Bytes& payload,
                                          ParameterAnswer& answer) {
  const std::lock_guard lock(mutex_);
  belong_to(request.job);
  ParameterReply reply{.life = life_};
  switch (request.kind) {
    case ParameterCallKind::find:
      reply.entries = request.entries;
      for (ParameterEntry& entry : reply.entries) {
        entry.is_there = variables_.contains(entry.name) || tables_.contains(entry.name);
        if (variables_.contains(entry.name)) known(entry);
      }
      break;
    case ParameterCallKind::create: {
      reply.entries = request.entries;
      const std::byte* value = payload.data();
      for (ParameterEntry& entry : reply.entries) {
        entry.is_there = !create(entry, value);
        value += entry.bytes();
      }
      break;
    }
    case ParameterCallKind::set_rule:
      reply.number = set_rule(request) ? 1.0 : 0.0;
      if (reply.number != 0.0) keep_rule();
      break;
    case ParameterCallKind::set_rate:
      set_rate(request);
      break;
    case ParameterCallKind::pull:
      follow(request.piece);
      reply.number = parts_of(request.piece);
      reply.entries = request.entries;
      answer_values(known(request.entries), answer);
      break;
    case ParameterCallKind::exchange:
      exchange(request, payload);
      reply.entries = without_tables(request.entries);
      answer_values(known(reply.entries), answer);
      break;
    case ParameterCallKind::create_table:
    case ParameterCallKind::pull_rows:
    case ParameterCallKind::assign_rows:
    case ParameterCallKind::set_step:
      carry_out_on_tables(request, payload, reply, answer);
      break;
    case ParameterCallKind::push_piece:
    case ParameterCallKind::commit:
    case ParameterCallKind::commit_part:
    case ParameterCallKind::restore:
      carry_out_in_step(request, payload, reply);
      break;
    case ParameterCallKind::assign:
      assign(request, payload);
      break;
    case ParameterCallKind::state:
      answer_state(request, reply, answer);
      break;
    case ParameterCallKind::load_state:
      load_state(request, payload);
      break;
    case ParameterCallKind::describe:
      describe(reply);
      break;
    case ParameterCallKind::snapshot:
      reply.number = static_cast<double>(snapshot(request));
      break;
    case ParameterCallKind::stop:
      stopped_ = true;
      stopped_changed_.notify_all();
      break;
  }
  reply.version = version_;
  return reply;
}

void ParameterServer::carry_out_in_step(const ParameterRequest& request, Bytes& payload,
                                        ParameterReply& reply) {
  switch (request.kind) {
    case ParameterCallKind::push_piece:
      known(request.entries);
      if (!applied_[0].contains(request.piece.id))
        pieces_.hold(request.piece, {request.rule, request.entries, std::move(payload)});
      return;
    case ParameterCallKind::commit:
      reply.number = commit(request.piece) ? 1.0 : 0.0;
      break;
    case ParameterCallKind::commit_part:
      reply.number = commit_part(request.piece) ? 1.0 : 0.0;
      break;
    default:
      reply.number = restore(request.id) ? 1.0 : 0.0;
      return;
  }
  if (reply.number == 0.0) reply.text = pieces_.describe();
}

void ParameterServer::carry_out_on_tables(const ParameterRequest& request, Bytes& payload,
                                          ParameterReply& reply, ParameterAnswer& answer) {
  switch (request.kind) {
    case ParameterCallKind::create_table:
      reply.entries = {request.entries.at(0)};
      reply.entries[0].is_there = !tables_.create(request);
      break;
    case ParameterCallKind::pull_rows:
      answer.fill = [rows = tables_.pull(request, payload)](uint64_t offset, std::span<std::byte> chunk) {
        std::memcpy(chunk.data(), static_cast<const std::byte*>(rows.raw()) + offset, chunk.size());
      };
      break;
    case ParameterCallKind::assign_rows:
      tables_.assign(request, payload);
      break;
    default:
      tables_.set_step(static_cast<int64_t>(request.id), request.number);
      break;
  }
}

const Variable& ParameterServer::known(const ParameterEntry& entry) const {
  const auto found = variables_.find(entry.name);
  if (found == variables_.end())
    throw NotFoundError("parameter server: there is no variable " + in_quotes(entry.name) + " here");
  const Variable& variable = found->second;
  if (variable.shape() != entry.shape || variable.dtype() != entry.dtype)
    throw ShapeError("parameter server: expected variable " +
                     text_of({.name = entry.name, .dtype = variable.dtype(), .shape = variable.shape()}) +
                     ", as the process that made it said, received one of shape " + entry.shape.to_string() +
                     " and dtype " + std::string(name_of(entry.dtype)) +
                     "; all processes run the same program");
  return variable;
}

Variables ParameterServer::known(const std::vector<ParameterEntry>& entries) const {
  Variables variables;
  for (const ParameterEntry& entry : entries) variables.push_back(known(entry));
  return variables;
}

/// True for the first of those who come with it.
bool ParameterServer::create(const ParameterEntry& entry, const std::byte* value) {
  if (variables_.contains(entry.name)) return known(entry), false;
  const Variable made = store_->create({.name = entry.name,
                                        .path = entry.name,
                                        .shape = entry.shape,
                                        .dtype = entry.dtype,
                                        .trainable = entry.trainable,
                                        .initialize = [&](const Tensor& place) {
                                          if (entry.bytes() > 0)
                                            std::memcpy(place.raw(), value, entry.bytes());
                                        }});
  variables_.emplace(entry.name, made);
  return true;
}

// The same rule for the same variables goes on with its state. True for another one. Tables change by that of
// compile().
bool ParameterServer::set_rule(const ParameterRequest& request) {
  if (request.id == 0) before_.reset();  // a training begins
  const std::vector<ParameterEntry> entries = without_tables(request.entries);
  const Variables variables = known(entries);
  std::vector<std::string> names;
  for (const ParameterEntry& entry : entries) names.push_back(entry.name);
  const auto found = rules_.find(request.rule);
  const bool is_same = found != rules_.end() && found->second.text == request.text &&
                       found->second.names == names && found->second.no_decay == request.names;
  const bool has_tables = entries.size() < request.entries.size();
  if (is_same && !has_tables) return false;
  if (found != rules_.end() && request.id != 0)
    throw StateError(
        "parameter server: gradients are applied by another optimizer, or to other variables, already; a "
        "program applies gradients by one optimizer, which has the same options in all processes");
  if (has_tables && !request.rule.empty())
    throw CommunicationError("parameter server: a table changes by the optimizer of compile() alone");
  HeldRule made{.rule = read_rule_(request.text, request.names), .is_new = true};
  if (request.rule.empty()) tables_.set_rule(request, *made.rule);
  if (is_same) return false;
  if (!variables.empty()) made.rule->build(*store_, variables);
  made.text = request.text;
  made.has = {names.begin(), names.end()};
  made.names = std::move(names);
  made.no_decay = request.names;
  rules_[request.rule] = std::move(made);
  return true;
}

// A server that goes on from a snapshot has the rule that nobody says a second time. In the middle of a
// synchronous training a snapshot would be of no step, and workers say rules again.
void ParameterServer::keep_rule() {
  if (last_mark_ && !has_committed_ && !before_) try_to_write_snapshot(*last_mark_, false);
}

HeldRule& ParameterServer::rule(const std::string& name) {
  const auto found = rules_.find(name);
  if (found == rules_.end())
    throw StateError(std::string("parameter server: nobody has said yet how gradients are applied") +
                     (began_with_ ? ", or its snapshot is older than that" : ""));
  return found->second;
}

// That of a rule which workers bring (again) holds from then on.
void ParameterServer::set_rate(const ParameterRequest& request) {
  if (!request.rule.empty()) {
    rates_[request.rule][request.id] = request.number;
    if (!rules_.contains(request.rule)) return;
  }
  rule(request.rule).rule->set_learning_rate(request.number, request.id);
  if (request.rule.empty() && request.id == 0) tables_.set_rate(request.number);
}

namespace {

void check_has_rule(const HeldRule& rule, const ParameterEntry& entry) {
  if (!rule.has.contains(entry.name))
    throw InvalidArgumentError("parameter server: variable " + in_quotes(entry.name) +
                               " has a gradient, but the optimizer does not update it");
}

}  // namespace

void ParameterServer::count(uint64_t staleness) {
  ++staleness_[std::min<uint64_t>(staleness, kStalenessCounts - 1)];
  ++version_;
}

// What came before is answered as what comes first: whoever sends it again wants the values.
void ParameterServer::exchange(const ParameterRequest& request, const Bytes& payload) {
  const Variables variables = known(without_tables(request.entries));
  Variables active;
  Gradients gradients;
  std::vector<std::pair<Variable, Tensor>> added;
  const std::byte* value = payload.data();
  for (size_t i = 0; i < variables.size(); ++i) {
    const ParameterEntry& entry = request.entries[i];  // tables stand behind
    if (entry.is_table())
      throw CommunicationError("parameter server: tables stand behind all other variables");
    if (!entry.is_there) continue;
    if (entry.trainable) {
      check_has_rule(rule(request.rule), entry);
      active.push_back(variables[i]);
      gradients.push_back({value});
    } else {
      added.emplace_back(variables[i], on_host(entry, value));
    }
    value += entry.bytes();
  }
  const auto rows_begin = static_cast<uint64_t>(value - payload.data());
  tables_.check_update(request, payload, rows_begin);
  UpdateRule* const update = active.empty() ? nullptr : &rule(request.rule).rule->rule_for(*store_, active);
  if (!applied_[request.process].insert(request.id)) {
    ++repeated_;
    return;
  }
  if (update) apply(*update, active, gradients);
  if (const auto used = rules_.find(request.rule); used != rules_.end()) used->second.is_new = false;
  tables_.update(request, payload, rows_begin);
  for (const auto& [variable, more] : added) variable.assign_add(more);
  count(version_ - std::min(version_, request.seen));
}

namespace {

bool is_later(const StepPiece& a, const StepPiece& b) {
  return std::tie(a.id, a.attempt) > std::tie(b.id, b.attempt);
}

bool is_same_attempt(const StepPiece& a, const StepPiece& b) {
  return a.id == b.id && a.attempt == b.attempt;
}

}  // namespace

bool ParameterServer::commit(const StepPiece& any) {
  if (applied_[0].contains(any.id)) return true;
  const bool is_in_parts = before_ && is_same_attempt(before_->attempt, any);
  if (!is_in_parts && !apply_pieces(any)) return false;
  before_.reset();
  applied_[0].insert(any.id);
  has_committed_ = true;
  pieces_.clear();
  return true;
}

bool ParameterServer::commit_part(const StepPiece& any) {
  if (applied_[0].contains(any.id)) return true;
  if (before_ && is_later(before_->attempt, any)) return false;
  follow(any);
  if (before_ && any.part < before_->parts) return true;
  if (pieces_.all_of(any).empty()) return false;
  if (!before_) keep_before(any);
  apply_pieces(any);
  before_->parts = any.part + 1;
  return true;
}

/// How many changes the attempt has made; below 0: its step is over.
double ParameterServer::parts_of(const StepPiece& any) const {
  const auto steps = applied_.find(0);
  if (any.id != 0 && steps != applied_.end() && steps->second.contains(any.id)) return -1.0;
  return before_ && is_same_attempt(before_->attempt, any) ? static_cast<double>(before_->parts) : 0.0;
}

void ParameterServer::keep_before(const StepPiece& any) {
  before_ = {.attempt = any, .version = version_};
  for (const auto& [name, variable] : variables_) before_->values[name] = variable.value(0).clone();
  for (const auto& [name, held] : rules_) {
    Tensors& values = before_->states[name];
    if (held.names.empty()) continue;  // it has no state
    for (const auto& [of_rule, value] : held.rule->state()) values.push_back(value.clone());
  }
}

// A rule that came since is said again by whoever applies gradients by it.
void ParameterServer::follow(const StepPiece& any) {
  if (any.id == 0 || !before_ || !is_later(any, before_->attempt)) return;
  for (const auto& [name, value] : before_->values) variables_.at(name).assign(value);
  std::erase_if(rules_, [this](const auto& entry) { return !before_->states.contains(entry.first); });
  for (const auto& [name, values] : before_->states)
    if (!values.empty()) rule(name).rule->load_state(values);
  version_ = before_->version;
  before_.reset();
  pieces_.clear();
}

// State is the same in all pieces and taken from the first that has it, unless each has a share of it.
bool ParameterServer::apply_pieces(const StepPiece& any) {
  const std::vector<const HeldPieces::Piece*> pieces = pieces_.all_of(any);
  if (pieces.empty()) return false;
  const std::string& by = pieces[0]->rule;
  std::map<std::string, std::vector<const std::byte*>> gradients;
  std::map<std::string, Tensor> state;
  for (const HeldPieces::Piece* piece : pieces) {
    if (piece->rule != by)
      throw CommunicationError(
          "parameter server: the pieces of a step apply gradients by different optimizers; all processes run "
          "the same program");
    const std::byte* value = piece->payload.data();
    for (const ParameterEntry& entry : piece->entries) {
      if (!entry.is_there) continue;
      if (entry.trainable) {
        check_has_rule(rule(by), entry);
        gradients[entry.name].push_back(value);
      } else if (Tensor& sum = state[entry.name]; !sum.defined()) {
        sum = on_host(entry, value);
      } else if (entry.is_share) {
        sum = ops::add(sum, on_host(entry, value));
      }
      value += entry.bytes();
    }
  }
  Variables active;
  Gradients of_active;
  if (!gradients.empty())
    for (const std::string& name : rule(by).names)
      if (const auto found = gradients.find(name); found != gradients.end()) {
        active.push_back(variables_.at(name));
        of_active.push_back(found->second);
      }
  if (!active.empty()) {
    rule(by).is_new = false;
    apply(rule(by).rule->rule_for(*store_, active), active, of_active);
  }
  for (const auto& [name, value] : state) variables_.at(name).assign(value);
  count(0);
  return true;
}

void ParameterServer::apply(UpdateRule& update, const Variables& active, const Gradients& gradients) {
  const bool adds = update.accumulates_into_existing(), applies = update.begin_step();
  for (size_t i = 0; i < active.size(); ++i) gather(active[i], gradients[i], adds);
  if (!applies) return update.end_gathering();
  store_->begin_update(active);
  update.apply({.store = store_.get(),
                .copy = 0,
                .gradient_replica = store_->sum_place(0),
                .parallel =
                    [](int slices, const std::function<void(int)>& body) {
                      for (int slice = 0; slice < slices; ++slice) body(slice);
                    },
                .num_slices = 1});
  update.end_step();
}

void ParameterServer::gather(const Variable& variable, std::vector<const std::byte*> gradients, bool adds) {
  const Tensor place = store_->gradient(0, variable);
  auto* const bytes = static_cast<std::byte*>(place.raw());
  if (place.bytes() == 0) return;
  if (adds) gradients.insert(gradients.begin(), bytes);
  if (gradients.size() == 1)
    std::memcpy(bytes, gradients[0], place.bytes());
  else
    combine(place.dtype(), CollectiveOp::sum, gradients, bytes, place.num_elements());
}

void ParameterServer::assign(const ParameterRequest& request, const Bytes& payload) {
  before_.reset();
  const Variables variables = known(request.entries);
  const std::byte* value = payload.data();
  for (size_t i = 0; i < variables.size(); ++i) {
    variables[i].assign(on_host(request.entries[i], value));
    value += request.entries[i].bytes();
  }
}

void ParameterServer::answer_values(const Variables& variables, ParameterAnswer& answer) {
  answer.fill = [this, variables](uint64_t offset, std::span<std::byte> chunk) {
    const std::lock_guard lock(mutex_);
    uint64_t first = 0;
    for (const Variable& variable : variables) {
      if (chunk.empty()) return;
      const Tensor& value = variable.value(0);
      const uint64_t size = value.bytes();
      if (offset < first + size) {
        const uint64_t begin = offset - first, count = std::min<uint64_t>(size - begin, chunk.size());
        std::memcpy(chunk.data(), static_cast<const std::byte*>(value.raw()) + begin, count);
        chunk = chunk.subspan(count);
        offset += count;
      }
      first += size;
    }
  };
}

void ParameterServer::answer_state(const ParameterRequest& request, ParameterReply& reply,
                                   ParameterAnswer& answer) {
  const auto held = rules_.find(request.rule);
  if (held == rules_.end()) return;
  reply.text = held->second.text;
  reply.names = held->second.names;
  if (reply.names.empty()) return;  // it counts no updates
  Bytes values;
  for (const auto& [name, value] : held->second.rule->state()) {
    if (request.id != 0 && value.rank() > 0) continue;
    reply.entries.push_back({.name = name, .dtype = value.dtype(), .shape = value.shape()});
    const auto* const bytes = static_cast<const std::byte*>(value.raw());
    values.insert(values.end(), bytes, bytes + value.bytes());
  }
  answer_bytes(std::move(values), answer);
}

void ParameterServer::answer_bytes(Bytes bytes, ParameterAnswer& answer) {
  answer.fill = [values = std::make_shared<const Bytes>(std::move(bytes))](uint64_t offset,
                                                                           std::span<std::byte> chunk) {
    std::memcpy(chunk.data(), values->data() + offset, chunk.size());
  };
}

void ParameterServer::load_state(const ParameterRequest& request, const Bytes& payload) {
  HeldRule& held = rule(request.rule);
  const bool is_new = std::exchange(held.is_new, false);
  if (request.id != 0 && !is_new) return;
  Tensors values;
  const std::byte* value = payload.data();
  for (const ParameterEntry& entry : request.entries) {
    values.push_back(on_host(entry, value));
    value += entry.bytes();
  }
  held.rule->load_state(values);
  if (const auto rates = rates_.find(request.rule); rates != rates_.end() && request.id != 0)
    for (const auto& [member, rate] : rates->second) held.rule->set_learning_rate(rate, member);
  if (is_new) keep_rule();
}

// What the mark stands for an earlier life had, which this one has not.
SnapshotState ParameterServer::snapshot(const ParameterRequest& request) {
  if (snapshot_path_.empty()) return SnapshotState::none;
  if (request.seen != 0 && request.seen != life_) return SnapshotState::written;
  return try_to_write_snapshot(request.id, true) ? SnapshotState::written : SnapshotState::failed;
}

// A full disk does not end a training: the snapshot before stays.
bool ParameterServer::try_to_write_snapshot(uint64_t mark, bool keeps_last) {
  try {
    write_snapshot(mark, keeps_last);
    return true;
  } catch (const std::exception& error) {
    log(LogChannel::warning, std::string("parameter server: no snapshot was written: ") + error.what());
    return false;
  }
}

// In a synchronous training a snapshot is what all servers had after one step, which this would not be.
void ParameterServer::keep() {
  const std::lock_guard lock(mutex_);
  if (!snapshot_path_.empty() && !variables_.empty() && !has_committed_ && !before_)
    try_to_write_snapshot(last_mark_.value_or(0), true);
}

// While nothing is applied: which exchanges it has and what they made of the variables belong together.
void ParameterServer::write_snapshot(uint64_t mark, bool keeps_last) {
  ServerSnapshot snapshot{.job = job_, .past_jobs = past_jobs_, .version = version_, .mark = mark};
  for (const auto& [process, ids] : applied_) snapshot.applied[process] = ids.ranges();
  Tensors values;
  for (const auto& [name, variable] : variables_) {
    snapshot.variables.push_back({.name = name,
                                  .dtype = variable.dtype(),
                                  .shape = variable.shape(),
                                  .trainable = variable.node().in_arena});
    values.push_back(variable.value(0));
  }
  for (const auto& [rule_name, held] : rules_) {
    ServerSnapshot::Rule& rule =
        snapshot.rules.emplace_back(ServerSnapshot::Rule{rule_name, held.text, held.names, held.no_decay});
    if (held.names.empty()) continue;
    for (const auto& [name, value] : held.rule->state()) {
      rule.state.push_back({.name = name, .dtype = value.dtype(), .shape = value.shape()});
      values.push_back(value);
    }
  }
  tables_.write(snapshot, values);
  const std::string beside = snapshot_path_ + ".next";
  write_server_snapshot(beside, snapshot, values);
  if (keeps_last && is_there(snapshot_path_)) std::filesystem::rename(snapshot_path_, path_before());
  std::filesystem::rename(beside, snapshot_path_);
  last_mark_ = mark;
}

bool ParameterServer::restore(uint64_t mark) {
  for (const std::string& path : {snapshot_path_, path_before()}) {
    if (snapshot_path_.empty() || !is_there(path)) continue;
    ServerSnapshot head;
    naming_file(path, [&] { read_server_snapshot(path, head); });
    if (head.job != job_ || head.mark != mark) continue;
    naming_file(path, [&] { go_on_from(path); });
    if (path != snapshot_path_) std::filesystem::rename(path, snapshot_path_);  // what came later is undone
    return true;
  }
  return false;
}

namespace {

size_t num_state(const ServerSnapshot& snapshot) {
  size_t count = 0;
  for (const ServerSnapshot::Rule& rule : snapshot.rules) count += rule.state.size();
  return count;
}

}  // namespace

void ParameterServer::go_on_from(const std::string& path) {
  ServerSnapshot snapshot;
  const Tensors values = read_server_snapshot(path, snapshot);
  size_t next = 0;
  for (const ParameterEntry& entry : snapshot.variables) {
    const Tensor& value = values.at(next++);
    if (!create(entry, static_cast<const std::byte*>(value.raw()))) variables_.at(entry.name).assign(value);
  }
  tables_.read(snapshot, values, next + num_state(snapshot));
  rules_.clear();
  before_.reset();
  for (const ServerSnapshot::Rule& rule : snapshot.rules) {
    ParameterRequest request{.rule = rule.name, .text = rule.text, .names = rule.no_decay};
    for (const std::string& name : rule.variables) {
      const auto entry = std::ranges::find(snapshot.variables, name, &ParameterEntry::name);
      if (entry == snapshot.variables.end())
        throw FileFormatError("no snapshot of a parameter server: its rule is for " + in_quotes(name) +
                              ", which it does not have");
      request.entries.push_back(*entry);
    }
    if (rule.name.empty()) tables_.add_entries(request);
    set_rule(request);
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(next);
    next += rule.state.size();
    HeldRule& held = rules_.at(rule.name);
    if (!rule.state.empty()) held.rule->load_state({first, first + std::ssize(rule.state)});
    held.is_new = false;
  }
  applied_.clear();
  for (auto& [process, ranges] : snapshot.applied) applied_[process] = AppliedIds(std::move(ranges));
  pieces_.clear();
  job_ = snapshot.job;
  past_jobs_ = std::move(snapshot.past_jobs);
  version_ = snapshot.version;
  began_with_ = last_mark_ = snapshot.mark;
}

void ParameterServer::describe(ParameterReply& reply) const {
  uint64_t bytes = 0;
  for (const auto& [name, variable] : variables_) bytes += variable.value(0).bytes();
  reply.text = std::to_string(variables_.size()) + " variables of " + std::to_string(bytes) + " bytes, " +
               std::to_string(version_) + " exchanges applied, " + std::to_string(repeated_) +
               " came a second time and were dropped" + tables_.describe();
  reply.counts = staleness_;
  for (const auto& [name, held] : rules_)
    reply.names.insert(reply.names.end(), held.names.begin(), held.names.end());
  reply.number = began_with_ ? static_cast<double>(*began_with_) : -1.0;
}

}  // namespace nyala::detail
