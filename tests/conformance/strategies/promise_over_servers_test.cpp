// The promise with parameter servers: where workers train each batch together, the cases of the promise suite
// give the numbers of one device. The first process is the chief and has the servers, the others are workers.
#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/serving/optimizer_rule.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/one_device.h>
#include <nyala/strategies/parameter_server/parameter_server.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>
#include <nyala/strategies/parameter_server_strategy.h>
#include <nyala/tests/conformance/strategies/promise_case.h>
#include <nyala/tests/support/rank_processes.h>

namespace nyala::promise_over_servers_test {

namespace {

using namespace detail;
using namespace std::chrono_literals;

struct ServerLayout {
  int workers, servers, spare = 0;
  std::string name() const {
    return std::to_string(workers) + "Workers" + std::to_string(servers) + "Servers" +
           (spare ? std::to_string(spare) + "Spare" : "");
  }
};

constexpr auto kTimeout = 60s;

/// Where the chief and the servers listen.
class Ports {
 public:
  void write(const std::vector<int>& ports) const {
    std::ofstream out(path() + ".new");
    for (const int port : ports) out << port << "\n";
    out.close();
    std::rename((path() + ".new").c_str(), path().c_str());
  }
  std::vector<int> read() const {
    for (const auto end = std::chrono::steady_clock::now() + kTimeout; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(20ms)) {
      std::vector<int> ports;
      std::ifstream in(path());
      for (int port = 0; in >> port;) ports.push_back(port);
      if (!ports.empty()) return ports;
    }
    throw TimeoutError("the chief has not said its ports");
  }

 private:
  static std::string path() { return RankProcesses::folder() + "/ports"; }
};

class PromiseOverServers : public ::testing::TestWithParam<ServerLayout> {
 protected:
  static std::unique_ptr<RemoteParameters> parameters(const std::vector<int>& ports) {
    std::vector<std::unique_ptr<ParameterConnection>> servers;
    for (size_t i = 1; i < ports.size(); ++i)
      servers.push_back(connect_parameters({"127.0.0.1", ports[i]}, {}));
    return std::make_unique<RemoteParameters>(std::move(servers),
                                              RemoteParameters::Options{.timeout = kTimeout});
  }

  /// Calls work(case, dtype) for all; several servers refuse optimizers that look at all gradients of a step.
  template <class Work>
  static void for_each_case(Work&& work) {
    int refused = 0;
    for (const PromiseCase& training : promise_cases())
      for (const DType dtype : {DType::float32, DType::float64}) {
        SCOPED_TRACE(training.name + ", " + std::string(name_of(dtype)));
        try {
          work(training, dtype);
        } catch (const Error& error) {
          if (std::string(error.what()).find("expected one parameter server") == std::string::npos) throw;
          ++refused;
        }
      }
    EXPECT_EQ(refused > 0, GetParam().servers > 1) << refused;
  }

  /// A worker that comes late finds trained weights: it only helps.
  static void help(const PromiseCase& training, const Strategy& strategy, DType dtype) {
    clear_session();
    set_random_seed(20261);
    const CaseData data = training.data(dtype);
    const Model model = strategy.scope([&] { return training.make(std::string(name_of(dtype))); });
    model.fit(data.x, data.y, data.fit);
    model.evaluate(data.x, data.y, {.batch_size = data.fit.batch_size, .verbose = 0});
    model.predict_all(data.x, {.batch_size = data.fit.batch_size, .verbose = 0});
  }

  static void be_chief() {
    std::vector<std::unique_ptr<ParameterServer>> servers;
    std::vector<std::unique_ptr<ParameterListener>> listeners;
    auto coordinator = std::make_unique<Coordinator>(CoordinatorOptions{
        .lease = kTimeout, .seed = 7, .is_synchronous = true, .backup_workers = GetParam().spare});
    auto listener = listen_parameters({"127.0.0.1", 0}, {}, *coordinator);
    std::vector<int> ports = {listener->port()};
    for (int i = 0; i < GetParam().servers; ++i) {
      servers.push_back(std::make_unique<ParameterServer>(read_optimizer_rules()));
      listeners.push_back(listen_parameters({"127.0.0.1", 0}, {}, *servers.back()));
      ports.push_back(listeners.back()->port());
    }
    Ports().write(ports);
    const ParameterServerStrategy strategy(
        std::make_shared<ParameterServerJob>(parameters(ports), std::move(coordinator), std::move(listener),
                                             ParameterServerJob::Times{.timeout = kTimeout}));
    for_each_case([&](const PromiseCase& training, DType dtype) {
      const Outcome received = outcome_of(training, strategy, dtype);
      const Outcome expected = outcome_of(training, OneDeviceStrategy("cpu:0"), dtype);
      const Difference difference = difference_of(received, expected, dtype);
      EXPECT_LE(difference.allowed, 1.0) << difference.where;
    });
  }

  static void be_worker() {
    const std::vector<int> ports = Ports().read();
    auto client =
        std::make_unique<CoordinatorClient>(connect_parameters({"127.0.0.1", ports[0]}, {}), kTimeout);
    const ParameterServerStrategy strategy(
        std::make_shared<ParameterServerJob>(parameters(ports), std::move(client)));
    for_each_case([&](const PromiseCase& training, DType dtype) { help(training, strategy, dtype); });
  }
};

TEST_P(PromiseOverServers, EveryCaseGivesTheNumbersOfOneDevice) {
  if (!grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  if (const std::optional<int> rank = RankProcesses::rank()) return *rank == 0 ? be_chief() : be_worker();
  RankProcesses processes(1 + GetParam().workers);
  for (int rank = 0; rank <= GetParam().workers; ++rank) {
    const RankProcesses::End end = processes.wait(rank, std::chrono::minutes(9));
    EXPECT_EQ(end.code, 0) << (rank == 0 ? "chief" : "worker " + std::to_string(rank - 1)) << ":\n"
                           << end.output;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PromiseOverServers,
                         ::testing::Values(ServerLayout{1, 1}, ServerLayout{2, 1}, ServerLayout{3, 2},
                                           ServerLayout{3, 1, 1}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala::promise_over_servers_test
