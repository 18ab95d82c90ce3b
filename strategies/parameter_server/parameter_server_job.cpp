#include <nyala/strategies/parameter_server/parameter_server_job.h>

#include <optional>
#include <span>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/strategies/parameter_server/piece_exchange.h>

namespace nyala::detail {

ParameterServerJob::ParameterServerJob(std::unique_ptr<RemoteParameters> parameters,
                                       std::unique_ptr<CoordinatorClient> client)
    : parameters_(std::move(parameters)), client_(std::move(client)) {
  parameters_->set_job(client_->job());
  client_->when_lost([&servers = *parameters_] { servers.cancel(); });
}

ParameterServerJob::ParameterServerJob(std::unique_ptr<RemoteParameters> parameters,
                                       std::unique_ptr<Coordinator> coordinator,
                                       std::unique_ptr<ParameterListener> listener, Times times)
    : parameters_(std::move(parameters)),
      coordinator_(std::move(coordinator)),
      listener_(std::move(listener)),
      times_(times) {
  parameters_->set_job(coordinator_->job());
}

ParameterServerJob::~ParameterServerJob() {
  if (!coordinator_) return;
  constexpr std::chrono::seconds kFarewell{30};
  loop_.reset();
  coordinator_->end("the chief has ended");
  if (!coordinator_->wait_until_workers_left(kFarewell))
    log(LogChannel::warning, "ParameterServerStrategy: " + std::to_string(coordinator_->num_workers()) +
                                 " workers have not ended 30 s after the chief; the servers end now");
  parameters_->stop();
  listener_.reset();
}

ChiefOfFunctions& ParameterServerJob::chief_of_functions() {
  if (!chief_of_functions_)
    chief_of_functions_ =
        std::make_unique<ChiefOfFunctions>(*parameters_, *coordinator_, times_.timeout, times_.snapshots);
  return *chief_of_functions_;
}

bool ParameterServerJob::is_synchronous() const {
  return coordinator_ ? coordinator_->is_synchronous() : client_->is_synchronous();
}

std::shared_ptr<ProcessExchange> ParameterServerJob::loop(int local_replicas) {
  if (loop_ || !is_synchronous()) return loop_;
  const StepPiece self{.piece = is_chief() ? 0 : place.index + 1, .pieces = place.workers + 1};
  const auto meet =
      [this, self](uint64_t number, const std::string& what,
                   std::span<const std::byte> own) -> std::optional<std::vector<std::vector<std::byte>>> {
    if (!coordinator_) return client_->meet(kOwnLoop, self, number, what, own);
    return coordinator_->meet_in_loop(self, number, what, {own.begin(), own.end()}, times_.timeout);
  };
  const auto tell = [this](const std::string& reason) {
    coordinator_ ? coordinator_->fail_loop(reason) : client_->fail(kOwnLoop, reason);
  };
  auto made = std::make_shared<PieceExchange>(meet, self, local_replicas, tell);
  for (const int64_t others : said_by_all(*made, int64_t{local_replicas}, "its beginning"))
    if (others != local_replicas)
      throw InvalidArgumentError("ParameterServerStrategy: this process has " +
                                 std::to_string(local_replicas) + " devices, another one has " +
                                 std::to_string(others) +
                                 "; all processes of a synchronous loop have the same number of them");
  return loop_ = std::move(made);
}

void ParameterServerJob::share_file(const std::string& path) {
  if (coordinator_)
    coordinator_->wrote_file(path);
  else if (parameters_->function() == 0)
    client_->await_file(path, ++files_[path]);
}

std::string ParameterServerJob::describe() {
  return (coordinator_ ? "chief: " + coordinator_->describe() : std::string("worker")) + "; " +
         std::to_string(parameters_->num_servers()) + " parameter servers\n" + parameters_->describe();
}

}  // namespace nyala::detail
