#include <nyala/strategies/parameter_server/parameter_server_job.h>

#include <nyala/backend/core/log.h>

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

void ParameterServerJob::share_file(const std::string& path) {
  if (coordinator_)
    coordinator_->wrote_file(path);
  else if (parameters_->function() == 0)
    client_->await_file(path, ++files_[path]);
}

std::string ParameterServerJob::describe() {
  return (coordinator_ ? "chief of " + coordinator_->describe() : std::string("worker")) + "; " +
         std::to_string(parameters_->num_servers()) + " parameter servers\n" + parameters_->describe();
}

}  // namespace nyala::detail
