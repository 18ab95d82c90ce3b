#include <nyala/strategies/control/cluster_process_group.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <stop_token>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/version.h>
#include <nyala/files/base/crc32.h>
#include <nyala/strategies/control/cluster_communicators.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/control/own_address.h>

namespace nyala::detail {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

/// The communicators of now, which what the control plane tells ends. Held by the client's thread as well.
class ClusterProcessGroup::Generation {
 public:
  void hear(const ControlNotice& notice) {
    if (notice.kind != ControlNotice::Kind::generation_ended) return;
    End end{notice.generation, notice.text, {}};
    const int server_rank = server_rank_;
    if (notice.is_lost) end.lost = notice.rank < 0 ? server_rank : notice.rank;
    if (notice.is_lost && notice.rank < 0 && server_rank >= 0)
      end.text =
          "rank " + std::to_string(server_rank) + ", which ran the control plane, is lost: " + notice.text;
    if (notice.is_over) end_for_good(end.text);
    ProcessCommunicators current;
    std::stop_source forming(std::nostopstate);
    {
      const std::lock_guard lock(mutex_);
      end_ = end;
      if (number_ == end.generation) current = {steps_.lock(), gradients_.lock()};
      if (number_ == end.generation) forming = forming_;
    }
    forming.request_stop();
    end_both(current, end);
  }

  /// The process of that rank runs the control plane; -1: none of them.
  void set_server(int rank) { server_rank_ = rank; }

  /// Its communicators are made now. Stop is requested when it has ended: nobody else will come.
  std::stop_token form(uint64_t number) {
    const std::lock_guard lock(mutex_);
    number_ = number;
    steps_.reset(), gradients_.reset();
    forming_ = std::stop_source();
    if (end_ && end_->generation == number) forming_.request_stop();
    return forming_.get_token();
  }
  /// Whether a process of that generation was lost.
  bool has_lost(uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return end_ && end_->generation == number && end_->lost;
  }
  /// What ended it; "" while it has not ended.
  std::string end_text(uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return end_ && end_->generation == number ? end_->text : "";
  }

  void begin(uint64_t number, const ProcessCommunicators& communicators) {
    std::optional<End> end;
    has_failed_ = false;
    {
      const std::lock_guard lock(mutex_);
      number_ = number;
      steps_ = communicators.steps;
      gradients_ = communicators.gradients;
      if (end_ && end_->generation == number) end = end_;
    }
    if (end) end_both(communicators, *end);
  }

  ProcessCommunicators communicators() const {
    const std::lock_guard lock(mutex_);
    return {steps_.lock(), gradients_.lock()};
  }

  /// The same communicator, of which it is known in the end whether it had failed: then the others know that
  /// and why.
  static std::shared_ptr<Communicator> watched(const std::shared_ptr<Generation>& generation,
                                               const std::shared_ptr<Communicator>& communicator) {
    // Let go at once: the deleter itself lives as long as weak pointers do, of which `generation` holds one.
    return {communicator.get(), [its = generation, whole = communicator](const Communicator* ended) mutable {
              if (ended->failed()) its->has_failed_ = true;
              whole.reset();
              its.reset();
            }};
  }
  bool has_failed() const {
    const ProcessCommunicators left = communicators();
    return has_failed_ || (left.steps && left.steps->failed()) ||
           (left.gradients && left.gradients->failed());
  }

  void end_for_good(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!over_by_) over_by_ = reason;
  }
  /// Why there is no next one; none while there may be.
  std::optional<std::string> over_by() const {
    const std::lock_guard lock(mutex_);
    return over_by_;
  }

 private:
  struct End {
    uint64_t generation;
    std::string text;
    std::optional<int> lost;
  };
  static void end_both(const ProcessCommunicators& communicators, const End& end) {
    for (const auto& one : {communicators.steps, communicators.gradients})
      if (one) one->end(end.text, end.lost);
  }

  std::atomic<bool> has_failed_{false};
  std::atomic<int> server_rank_{-1};
  mutable Mutex mutex_;
  uint64_t number_ = 0;
  std::stop_source forming_;
  std::weak_ptr<Communicator> steps_, gradients_;
  std::optional<End> end_;
  std::optional<std::string> over_by_;
};

ClusterProcessGroup::ClusterProcessGroup(ClusterProcessGroupOptions options)
    : options_(std::move(options)),
      generation_(std::make_shared<Generation>()),
      exceptions_(std::uncaught_exceptions()) {
  check_communication_options(options_.communication);
  check_control_security(options_.coordinator, options_.security);
  if (options_.is_chiefs) generation_->set_server(0);
  if (options_.is_elected()) {
    elect();
    return;
  }
  if (options_.serves)
    server_ = std::make_unique<ControlServer>(options_.coordinator, options_.security,
                                              ControlStateOptions{.size = options_.size});
}

/// A name that stands for this machine alone, here, is nothing to listen on: from elsewhere it leads here.
void ClusterProcessGroup::elect() {
  const HostPort& first = options_.coordinator;
  const std::string own = address_towards(first);
  HostPort address{own.empty() ? first.host : own, 0};
  const HostPort fallback = address;
  const std::optional<HostPort> named =
      parse_address(options_.addresses.at(static_cast<size_t>(options_.rank)));
  if (named) address.port = named->port;
  if (named && (is_loopback_host(named->host) || options_.rank == 0 || !resolves_to_loopback(named->host)))
    address.host = named->host;
  election_ = std::make_unique<ControlElection>(ControlElectionOptions{
      .rank = options_.rank,
      .size = options_.size,
      .addresses = options_.addresses,
      .own = address,
      .fallback = fallback,
      .security = options_.security,
      .min_size = options_.elastic.min_workers,
      .come_back = options_.comes_back,
      .rejoin_timeout = std::min(options_.elastic.rejoin_timeout, options_.communication.timeout / 2),
      .timeout = options_.communication.timeout});
}

const HostPort& ClusterProcessGroup::coordinator() const {
  return election_ ? election_->server().address : options_.coordinator;
}

ClusterProcessGroup::~ClusterProcessGroup() {
  if (std::uncaught_exceptions() > exceptions_ && !generation_->has_failed())
    give_up("an exception ended what the program did with its strategy", false);
  leave();
}

void ClusterProcessGroup::meet() {
  try {
    if (!client_)
      begin();
    else if (!election_)
      client_->join();
    if (!election_) return;
    election_->join(*client_);
    const std::vector<ControlMember> members = client_->members();
    const auto server = std::ranges::find(members, election_->server().rank, &ControlMember::started_as);
    generation_->set_server(server == members.end() ? -1 : static_cast<int>(server - members.begin()));
  } catch (const TimeoutError& error) {
    if (server_)
      server_->give_up("the process that runs the control plane gave up: " + std::string(error.what()));
    const std::string& host = options_.coordinator.host;
    if (is_loopback_host(host) || !resolves_to_loopback(host)) throw;
    throw TimeoutError(std::string(error.what()) + ". On this machine the name " + in_quotes(host) +
                       " stands for the machine itself (127.x.x.x, ::1): processes of other machines do not "
                       "reach it there. Use a name or an address that means the same everywhere.");
  } catch (const CommunicationError&) {
    using std::chrono::milliseconds;
    constexpr milliseconds kToCome = std::chrono::seconds(5);
    if (server_) server_->wait_until_all_are_refused(std::min(options_.communication.timeout, kToCome));
    throw;
  }
}

void ClusterProcessGroup::begin() {
  const CommunicationOptions& communication = options_.communication;
  ControlFacts facts = {
      {"the version of Nyala", std::string(version())},
      {"communication_options.implementation", std::string(name_of(communication.implementation))},
      {"communication_options.bytes_per_pack", std::to_string(communication.bytes_per_pack)},
      {"communication_options.wire_dtype", std::string(name_of(communication.wire_dtype))},
      {"communication_options.trusted_network", communication.trusted_network ? "true" : "false"},
      {"communication_options.timeout", std::to_string(communication.timeout.count()) + " ms"}};
  if (election_) {
    const ElasticOptions& elastic = options_.elastic;
    facts.emplace_back("min_workers", std::to_string(elastic.min_workers));
    facts.emplace_back("rejoin_timeout", seconds_text(elastic.rejoin_timeout));
  }
  facts.insert(facts.end(), options_.facts.begin(), options_.facts.end());
  client_ = std::make_shared<ControlClient>(ControlClientOptions{
      .address = server_ ? server_->address() : options_.coordinator,
      .security = options_.security,
      .rank = options_.rank,
      .size = options_.size,
      .own_address = election_ ? election_->own_address().text() : "",
      .place = place_of_process(),
      .facts = std::move(facts),
      .timeout = communication.timeout,
      .is_elected = election_ != nullptr,
      .on_notice = [generation = generation_](const ControlNotice& notice) { generation->hear(notice); }});
}

// One that is lost while they connect is the end of that generation. Where none is lost they may not reach
// each other, and that for ever: once all have met they have half of the timeout, and what was left of it
// where they did not wait for a timeout before.
ProcessCommunicators ClusterProcessGroup::join() {
  const std::chrono::milliseconds timeout = options_.communication.timeout;
  const bool has_time = !client_ || generation_->has_lost(client_->generation());
  auto begun = has_time ? Clock::now() : Clock::now() - timeout;
  deadline_.reset();
  for (;;) {
    meet();
    if (!deadline_) deadline_ = std::max(begun + timeout, Clock::now() + timeout / 2);
    try {
      ProcessCommunicators made = connect();
      client_->confirm(std::max(std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()),
                                std::chrono::milliseconds(1)));
      for (auto* const one : {&made.steps, &made.gradients}) *one = Generation::watched(generation_, *one);
      generation_->begin(client_->generation(), made);
      return made;
    } catch (const CommunicationError& error) {
      const uint64_t generation = client_->generation();
      const std::string end = generation_->end_text(generation);
      const bool has_lost = generation_->has_lost(generation);
      if (has_lost) begun = Clock::now(), deadline_.reset();
      const bool goes_on = can_rejoin() && (!deadline_ || Clock::now() < *deadline_);
      if (!goes_on && can_rejoin())
        abort(error.what());  // the others have tried as long
      else if (end.empty())
        give_up(error.what(), false);
      if (goes_on) continue;
      if (has_lost) throw PeerLostError(end);
      if (!end.empty()) throw CommunicationError(end);
      throw;
    } catch (const std::exception& error) {
      give_up(error.what(), false);
      throw;
    }
  }
}

ProcessCommunicators ClusterProcessGroup::connect() {
  const std::vector<ControlMember> members = client_->members();
  const HostPort& server = coordinator();
  const bool is_local = is_loopback_host(server.host);
  const CommunicatorOptions options{.rank = client_->rank(),
                                    .size = static_cast<int>(members.size()),
                                    .generation = client_->generation(),
                                    .timeout = options_.communication.timeout,
                                    .address = is_local ? "" : address_towards(server),
                                    .trusted_network = options_.communication.trusted_network};
  return ClusterCommunicators(options, members, client_)
      .make(options_.communication.implementation, generation_->form(client_->generation()), deadline_);
}

bool ClusterProcessGroup::can_rejoin() const {
  return options_.can_rejoin() && client_ && !generation_->over_by() &&
         (election_ || client_->is_reachable());
}

std::string ClusterProcessGroup::ended_by() const { return generation_->over_by().value_or(""); }

void ClusterProcessGroup::abort(const std::string& reason) noexcept {
  generation_->end_for_good(reason);
  give_up(reason, true);
}

void ClusterProcessGroup::take_newcomers(bool takes) noexcept {
  try {
    if (can_rejoin() && client_->is_reachable()) client_->take_newcomers(takes);
  } catch (const CommunicationError&) {  // then this generation has ended, or does soon
  } catch (const std::exception& error) {
    log(LogChannel::warning, "newcomers are not taken in: " + std::string(error.what()));
  }
}

void ClusterProcessGroup::give_up(const std::string& reason, bool for_good) noexcept {
  try {
    if (client_ && client_->is_reachable()) client_->abort(reason, for_good);
  } catch (const std::exception&) {  // then the others hear of it when the connection closes
  }
  const ProcessCommunicators current = generation_->communicators();
  for (const auto& one : {current.steps, current.gradients})
    if (one) one->abort(reason);
}

void ClusterProcessGroup::leave() noexcept {
  if (std::exchange(has_left_, true) || !client_) return;
  try {
    if (client_->is_reachable()) client_->leave();
  } catch (const std::exception&) {  // it is gone itself
  }
  if (server_) server_->wait_until_left(options_.communication.timeout);
  if (election_) election_->wait_until_left(options_.communication.timeout);
}

std::string ClusterProcessGroup::describe() const {
  const std::string where = " of the control plane at " + coordinator().text();
  if (!client_ || client_->members().empty()) return std::to_string(options_.size) + " processes" + where;
  return "rank " + std::to_string(client_->rank()) + " of " + std::to_string(client_->members().size()) +
         " processes" + where + ", generation " + std::to_string(client_->generation());
}

namespace {

/// The same for the same cluster, and not longer than a message takes.
std::string described(const ClusterSpec& cluster) {
  constexpr size_t kMost = 2000;
  const std::string text = cluster.to_string();
  if (text.size() <= kMost) return text;
  const uint32_t sum = crc32(0, std::as_bytes(std::span(text)));
  return text.substr(0, kMost) + "... (" + std::to_string(text.size()) + " bytes, checksum " +
         std::to_string(sum) + ")";
}

HostPort coordinator_of(const ClusterSpec& cluster, const Environment& environment) {
  if (const auto text = environment.get("NYALA_COORDINATOR")) {
    const auto address = parse_address(*text);
    if (!address) throw_wrong_setting("NYALA_COORDINATOR", kAddressForm, in_quotes(*text));
    return *address;
  }
  const ClusterTask leader = coordination_leader(cluster);
  return *parse_address(cluster.task_address(leader.type, leader.id));
}

/// By rank.
std::vector<std::string> addresses_of(const ClusterSpec& cluster) {
  std::vector<std::string> addresses;
  for (const char* job : {"chief", "worker"})
    if (cluster.has_job(job))
      for (const int index : cluster.task_indices(job)) addresses.push_back(cluster.task_address(job, index));
  return addresses;
}

/// What the program leaves open the environment may say.
ElasticOptions elastic_of(ElasticOptions options, int size, const Environment& environment) {
  constexpr int kMostSeconds = 1'000'000;
  if (options.min_workers < 0 || options.min_workers > size)
    throw_wrong_setting("MultiWorkerMirroredStrategy: min_workers",
                        "0 to " + std::to_string(size) + ", the number of processes",
                        std::to_string(options.min_workers));
  if (options.rejoin_timeout.count() < 0)
    throw_wrong_setting("MultiWorkerMirroredStrategy: rejoin_timeout", "0 ms or more",
                        std::to_string(options.rejoin_timeout.count()));
  if (options.min_workers > 0) return options;
  options.min_workers = optional_number(environment, {"NYALA_MIN_WORKERS", 0, size}).value_or(0);
  if (const auto seconds = optional_number(environment, {"NYALA_REJOIN_TIMEOUT", 0, kMostSeconds}))
    options.rejoin_timeout = std::chrono::seconds(*seconds);
  return options;
}

}  // namespace

std::shared_ptr<ProcessGroup> cluster_process_group(const ClusterResolver& resolver,
                                                    const CommunicationOptions& communication,
                                                    const Environment& environment, ElasticOptions elastic) {
  const char* const kWhere = "MultiWorkerMirroredStrategy";
  check_communication_options(communication);
  const ClusterSpec cluster = resolver.cluster_spec();
  const ClusterTask task{resolver.task_type(), resolver.task_id()};
  check_cluster(cluster, task, kWhere);
  if (cluster.has_job("ps"))
    throw_wrong_setting(kWhere, "a cluster of a chief and workers", "one with the job 'ps'",
                        "All processes of this strategy train; leave out the parameter servers.");
  if (worker_count(cluster, task) == 1) return nullptr;
  const bool is_launched = environment.has("NYALA_COORDINATOR");
  elastic = elastic_of(elastic, worker_count(cluster, task), environment);
  if (is_launched) elastic = {};  // nyala launch has been told its own
  return std::make_shared<ClusterProcessGroup>(
      ClusterProcessGroupOptions{.coordinator = coordinator_of(cluster, environment),
                                 .serves = !is_launched && is_chief(cluster, task),
                                 .is_chiefs = !is_launched,
                                 .comes_back = optional_number(environment, {"NYALA_REJOIN", 0, 1}) == 1,
                                 .elastic = elastic,
                                 .addresses = addresses_of(cluster),
                                 .security = control_security_of(environment),
                                 .rank = id_in_cluster(cluster, task),
                                 .size = worker_count(cluster, task),
                                 .communication = communication,
                                 .facts = {{"the cluster", described(cluster)}}});
}

}  // namespace nyala::detail
