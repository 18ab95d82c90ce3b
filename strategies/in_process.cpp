// One class for all strategies of a process. run(): each replica on its thread, gradients into buckets that
// are summed meanwhile; update(): the rule over the sums, cut into slices for the same threads where one set
// of weights in common memory is enough, else once per copy. The first error is kept and breaks the meetings,
// so that no replica waits for one that has failed.
#include <nyala/strategies/in_process.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/communicators/process_link.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>
#include <nyala/strategies/parameter_server/remote_tables.h>

namespace nyala {

using namespace nyala::detail;

namespace {

InProcessOptions checked(InProcessOptions options) {
  for (Device device : options.devices) check_device_exists(device);
  if (options.parameter_device) check_device_exists(*options.parameter_device);
  check_device_weights(options.device_weights, options.devices.size(), options.name.c_str());
  if (!options.device_weights.empty() && (options.ids.all > 0 || options.processes.steps || options.group))
    throw InvalidArgumentError(options.name +
                               ": device weights are for the replicas of one process; leave them out");
  return options;
}

bool can_share(const std::vector<Device>& devices) {
  for (const Device device : devices)
    if (!share_memory(device, devices[0])) return false;
  return true;
}

std::shared_ptr<ParameterStore> store_for(const InProcessOptions& options) {
  if (options.store) return options.store;
  if (options.parameter_device)
    return ParameterStore::make_central(options.devices, *options.parameter_device);
  return ParameterStore::make(options.devices, options.share_weights && can_share(options.devices));
}

// Replicas that were faster than the one that failed have added to what was gathered before: it is of no use
// any more. The same on any number of replicas, one included.
void forget_gathered(ParameterStore& store, const UpdateRule& rule) {
  for (const Variable& variable : rule.variables())
    for (int replica = 0; replica < store.num_local_replicas(); ++replica)
      ops::detail::fill_zero(store.gradient(replica, variable));
}

/// From the processes, where there are any.
std::shared_ptr<ProcessLink> link_of(const InProcessOptions& options) {
  if (!options.processes.steps && !options.group) return nullptr;
  auto link = std::make_shared<ProcessLink>(static_cast<int>(options.devices.size()));
  if (options.processes.steps) link->connect(options.processes.steps, 0);
  return link;
}

std::unique_ptr<ProcessGenerations> generations_of(InProcessOptions& options,
                                                   const std::shared_ptr<ProcessLink>& link) {
  if (!options.group) return nullptr;
  auto generations = std::make_unique<ProcessGenerations>(options.group, link);
  options.processes = generations->communicators();
  return generations;
}

ReplicaIds ids_of(const InProcessOptions& options, const ProcessLink* link) {
  return link ? ReplicaIds{link->first_replica(), link->num_replicas()} : options.ids;
}

}  // namespace

InProcessStrategy::InProcessStrategy(InProcessOptions options)
    : options_(checked(std::move(options))),
      processes_(link_of(options_)),
      generations_(generations_of(options_, processes_)),
      store_(store_for(options_)),
      group_(options_.devices, ids_of(options_, processes_.get())),
      buckets_(*store_, options_.bucket_elements, options_.cross_device_ops),
      threads_(options_.devices),
      registration_(*store_, *this) {
  group_.profiler = buckets_.profiler = &profiler_;
  buckets_.wire_dtype = options_.wire_dtype;
  for (size_t i = 0; i < options_.devices.size(); ++i) tapes_.push_back(std::make_unique<Tape>());
  if (options_.parameter_servers) {
    RemoteParameters& parameters = options_.parameter_servers->parameters();
    store_->set_created([&parameters](const Variable& made) { parameters.created(made); });
    set_row_source(*store_, parameters.tables());
    buckets_.on_remote_rows = [tables = parameters.tables()](int replica, int32_t leaf, const Tensor& indices,
                                                             const Tensor& values) {
      tables->add_gradient(replica, leaf, indices, values);
    };
    options_.parameter_servers->take_part = [this](std::shared_ptr<ProcessExchange> pieces) {
      take_part(std::move(pieces));
    };
  }
  if (!processes_) return;
  group_.set_processes(processes_);
  store_->set_processes(processes_);
  buckets_.set_exchange(processes_, options_.processes.gradients);
  if (generations_) generations_->set_connected([this](const ProcessCommunicators& next) { follow(next); });
}

// Nobody is to miss this process when it takes what it spoke by with it.
InProcessStrategy::~InProcessStrategy() {
  generations_.reset();
  if (options_.parameter_servers) set_row_source(*store_, nullptr);
}

// What the processes had agreed on they agree on again: newcomers know nothing of it.
void InProcessStrategy::follow(const ProcessCommunicators& processes) {
  options_.processes = processes;
  group_.set_ids(ids_of(options_, processes_.get()));
  buckets_.set_exchange(processes_, processes.gradients);
  buckets_.disarm();
  pending_.clear();
  gathered_.clear();
}

// Gradients stay here: servers sum them.
void InProcessStrategy::take_part(std::shared_ptr<ProcessExchange> pieces) {
  pieces_ = std::move(pieces);
  group_.set_processes(pieces_);
  group_.set_ids(pieces_ ? ReplicaIds{pieces_->first_replica(), pieces_->num_replicas()}
                         : ReplicaIds{0, group_.size()});
}

// In a step of fit() workers meet by pieces, and what a replica calls has begun.
std::shared_ptr<void> InProcessStrategy::meet_in_loop() {
  if (!options_.parameter_servers || pieces_ || runs_ > 0 ||
      options_.parameter_servers->parameters().is_in_step())
    return nullptr;
  auto loop = options_.parameter_servers->loop(num_local_replicas());
  if (!loop) return nullptr;
  take_part(std::move(loop));
  return {static_cast<void*>(this), [this](void*) { take_part(nullptr); }};
}

void InProcessStrategy::end_pass() {
  if (options_.parameter_servers && options_.parameter_servers->take_loop_optimizers)
    options_.parameter_servers->take_loop_optimizers();
}

RowRange InProcessStrategy::rows_of(int replica_id, int64_t global_rows) const {
  if (options_.device_weights.empty()) return StrategyNode::rows_of(replica_id, global_rows);
  return split_rows(options_.device_weights, global_rows)[static_cast<size_t>(replica_id)];
}

InProcessStrategy::Turn::Turn(InProcessStrategy& strategy) : strategy_(strategy) {
  if (strategy.runs_on_this_thread())
    throw StateError(strategy.name() +
                     ": a step was begun inside a step of the same strategy; end that one first");
  lock_ = std::unique_lock(strategy.turn_);
  strategy.runner_ = std::this_thread::get_id();
}

InProcessStrategy::Turn::~Turn() { strategy_.runner_ = std::thread::id(); }

bool InProcessStrategy::runs_on_this_thread() const {
  if (runner_.load() == std::this_thread::get_id()) return true;
  for (int index = 0; index < group_.size(); ++index)
    if (thread_context().replica == &group_.context(index)) return true;
  return false;
}

UpdateRule& InProcessStrategy::acting(UpdateRule& rule) {
  return options_.parameter_servers ? options_.parameter_servers->parameters().remote(rule, *store_) : rule;
}

namespace {

class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

}  // namespace

void InProcessStrategy::run(const std::function<void(Replica&)>& fn, UpdateRule* given) {
  const Counted counted(runs_);
  UpdateRule* const rule = given ? &acting(*given) : nullptr;
  if (!rule && num_replicas_in_sync() == 1) return run_alone(fn);
  const Turn turn(*this);
  group_.reset();
  bool apply = false, accumulate = false;
  if (rule) {
    group_.check_complete("an update");
    accumulate = rule->accumulates_into_existing();
    apply = rule->begin_step();
    claim_gradients(*rule, rule, apply, accumulate);
    buckets_.begin(*rule, apply, accumulate);
  }
  first_error_.forget();
  run_has_rule_ = rule != nullptr;
  manual_ = nullptr;
  profiler_.begin_run(num_local_replicas());
  threads_.run([&](int index) {
    try {
      run_replica(index, fn, rule != nullptr);
    } catch (...) {
      fail(index);
    }
    profiler_.end_replica(index);
  });
  profiler_.end_run();
  if (rule) drain();
  if (first_error_.caught()) {
    if (accumulate) forget_gathered(*store_, *rule);
    buckets_.disarm();  // the variables of a model too large for the memory are let go
  }
  first_error_.rethrow();
  if (!rule) {
    if (manual_) profiler_.end_update();
    profiler_.drop_run();
    return;
  }
  std::erase_if(pending_, [rule](const Pending& pending) { return pending.rule == rule; });
  pending_.push_back({rule, apply});
}

// A step that another process could not end is one that failed here, too.
void InProcessStrategy::drain() noexcept {
  try {
    buckets_.drain();
  } catch (...) {
    first_error_.keep();
  }
}

// Touches nothing that others use: several threads may predict at once.
void InProcessStrategy::run_alone(const std::function<void(Replica&)>& fn) {
  Tape tape;
  threads_.run([&](int) {
    Replica replica{.device = options_.devices[0], .tape = &tape, .node = this};
    const InReplica inside(replica);
    fn(replica);
  });
}

void InProcessStrategy::run_replica(int index, const std::function<void(Replica&)>& fn, bool has_rule) {
  const bool several = num_replicas_in_sync() > 1;
  Replica replica{.id = replica_id(index),
                  .num_replicas = num_replicas_in_sync(),
                  .local_index = index,
                  .device = options_.devices[static_cast<size_t>(index)],
                  .context = several ? &group_.context(index) : nullptr,
                  .gradients = has_rule ? &buckets_.sink(index) : nullptr,
                  .tape = tapes_[static_cast<size_t>(index)].get(),
                  .node = this};
  const InReplica inside(replica);
  fn(replica);
  if (has_rule) buckets_.finish(index);
  group_.leave(index);
}

namespace {

/// In a catch block: whether it is the program that failed, not what it speaks by.
bool is_of_the_program() {
  try {
    throw;
  } catch (const CommunicationError&) {
    return false;
  } catch (...) {
    return true;
  }
}

/// In a catch block: whether a collective broke. It says which replica is the cause, not always the one that
/// noticed.
bool comes_from_others(const ReplicaGroup& group) {
  try {
    throw;
  } catch (const CommunicationError&) {
    return group.broken();
  } catch (...) {
    return false;
  }
}

}  // namespace

// Called in a catch block. The first error is the cause; the others only follow from the cancelled
// collectives.
void InProcessStrategy::fail(int index) noexcept {
  tapes_[static_cast<size_t>(index)]->clear();
  const bool named = num_replicas_in_sync() > 1 && !comes_from_others(group_);
  const Device device = options_.devices[static_cast<size_t>(index)];
  const std::string text =
      first_error_.keep(named ? place_of("replica", replica_id(index), device) : std::string());
  group_.cancel(text);
  if (pieces_) pieces_->abort(text);
  if (!processes_) return;
  if (generations_ && is_of_the_program()) generations_->end(text);
  processes_->abort(text);
  buckets_.cancel(text);
}

bool InProcessStrategy::take_pending(const UpdateRule& rule) {
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending) {
    if (pending->rule != &rule) continue;
    const bool apply = pending->apply;
    pending_.erase(pending);
    return apply;
  }
  throw StateError(name() + ": update() needs a run() with the same rule before it");
}

void InProcessStrategy::update(UpdateRule& given) {
  const Turn turn(*this);
  UpdateRule& rule = acting(given);
  const bool complete = take_pending(rule);
  profiler_.begin_update();
  if (complete)
    apply(rule, [this](const std::function<void(int)>& body) { in_slices(body); });
  else
    rule.end_gathering();
  store_->fetch(rule.variables());
  profiler_.end_update();
}

void InProcessStrategy::apply(UpdateRule& rule, const InSlices& in_slices) {
  store_->begin_update(rule.variables());
  UpdatePlace place{store_.get(), 0, store_->sum_place(0), {}, 1};
  if (store_->num_weight_copies() == 1 && is_on_host(store_->weights_device(0))) {
    place.num_slices = num_local_replicas();
    place.parallel = [&in_slices](int, const std::function<void(int)>& body) { in_slices(body); };
    rule.apply(place);
  } else {
    place.parallel = [](int slices, const std::function<void(int)>& body) {
      for (int slice = 0; slice < slices; ++slice) body(slice);
    };
    for (int copy = 0; copy < store_->num_weight_copies(); ++copy) {
      place.copy = copy;
      place.gradient_replica = store_->sum_place(copy);
      rule.apply(place);
    }
  }
  rule.end_step();
}

void InProcessStrategy::in_slices(const std::function<void(int)>& body) {
  CaughtError error;
  threads_.run([&](int slice) {
    try {
      body(slice);
    } catch (...) {
      error.keep();
    }
  });
  error.rethrow();
}

}  // namespace nyala
