#include <nyala/api/serving/local_server.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nyala/api/base/names.h>
#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/api/serving/row_optimizer.h>
#include <nyala/backend/core/caught_error.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/strategies/cluster/free_ports.h>
#include <nyala/strategies/parameter_server/parameter_server.h>

namespace nyala {

using namespace nyala::detail;

namespace {

void check_number(const char* what, int number) {
  if (number < 1)
    throw InvalidArgumentError(std::string("LocalServer: expected ") + what + " of 1 or more, received " +
                               std::to_string(number));
}

constexpr const char* kCameLate = "the chief had ended before this worker came";

/// In the place of a chief that has ended: workers that come later wait for nobody.
class NoChief final : public ParameterService {
 public:
  std::shared_ptr<ParameterReceiver> begin(std::string) override { throw CommunicationError(kCameLate); }
};

/// The first error of a program that runs in several threads. CommunicationErrors come last: most tell of
/// another thread's error, and may be there before it.
class FirstError {
 public:
  /// In a catch block.
  void keep() {
    try {
      throw;
    } catch (const CommunicationError& error) {
      if (std::string_view(error.what()).find(kCameLate) == std::string_view::npos) told_.keep();
    } catch (...) {
      own_.keep();
    }
  }
  void rethrow() {
    own_.rethrow();
    told_.rethrow();
  }

 private:
  CaughtError own_, told_;
};

/// Null where the chief's strategy is still there.
std::unique_ptr<ParameterListener> listen_for_none(const ClusterSpec& cluster, NoChief& service) {
  try {
    return listen_parameters(*parse_address(cluster.task_address("chief", 0)), control_security_of({}),
                             service);
  } catch (const IoError&) {
    return nullptr;
  }
}

}  // namespace

/// Listeners end before what they call.
class LocalServer::Servers {
 public:
  /// One more; its port.
  int add() {
    servers_.push_back(
        std::make_unique<ParameterServer>(read_optimizer_rules(), std::string(), read_row_fillers()));
    listeners_.push_back(listen_parameters({"127.0.0.1", 0}, control_security_of({}), *servers_.back()));
    return listeners_.back()->port();
  }

 private:
  std::vector<std::unique_ptr<ParameterServer>> servers_;
  std::vector<std::unique_ptr<ParameterListener>> listeners_;
};

LocalServer::LocalServer(const Config& config) : servers_(std::make_unique<Servers>()) {
  check_number("num_ps", config.num_ps);
  check_number("num_workers", config.num_workers);
  const auto address = [](int port) { return "127.0.0.1:" + std::to_string(port); };
  std::vector<std::string> ps, others;
  for (int i = 0; i < config.num_ps; ++i) ps.push_back(address(servers_->add()));
  for (const int port : lasting_ports(config.num_workers + 1)) others.push_back(address(port));
  cluster_ = {{"chief", {others.back()}}, {"ps", ps}, {"worker", {others.begin(), others.end() - 1}}};
}

LocalServer::~LocalServer() = default;

SimpleClusterResolver LocalServer::place(const std::string& job, int index) const {
  const std::string master = cluster_.task_address(job, index);
  return SimpleClusterResolver(
      {.cluster_spec = cluster_, .master = master, .task_type = job, .task_id = index});
}

SimpleClusterResolver LocalServer::chief() const { return place("chief", 0); }
SimpleClusterResolver LocalServer::worker(int index) const { return place("worker", index); }

void LocalServer::run(const std::function<void(const SimpleClusterResolver&)>& program) const {
  if (!program) throw StateError("LocalServer: run() was given an empty function");
  FirstError error;
  const auto call = [&](const SimpleClusterResolver& own_place) {
    NameCounters own_names;
    const ScopedValue names(thread_context().names, &own_names);
    try {
      program(own_place);
    } catch (...) {
      error.keep();
    }
  };
  std::vector<std::jthread> workers;
  for (const int index : cluster_.task_indices("worker"))
    workers.emplace_back([&call, own_place = worker(index)] { call(own_place); });
  call(chief());
  NoChief no_chief;
  const std::unique_ptr<ParameterListener> listener = listen_for_none(cluster_, no_chief);
  workers.clear();
  error.rethrow();
}

}  // namespace nyala
