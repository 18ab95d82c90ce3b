#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nyala/strategies/control/control_message.h>
#include <nyala/strategies/communicators/communication_options.h>
#include <nyala/strategies/communicators/process_communicators.h>

namespace nyala::detail {

/// Makes the communicators of a generation whose members know each other's places.
class ClusterCommunicators {
 public:
  /// `options` says rank, size, generation, timeout and what Gloo needs. The rendezvous serves them all their
  /// lives.
  ClusterCommunicators(CommunicatorOptions options, const std::vector<ControlMember>& members,
                       std::shared_ptr<Rendezvous> rendezvous);

  using FormedBy = std::optional<std::chrono::steady_clock::time_point>;

  /// Collective; all communicators have until `formed_by`, else each options.timeout. Where `stop` is
  /// requested before all have come, it throws CommunicationError soon. Throws InvalidArgumentError where the
  /// implementation does not reach all of them, and what the communicators' functions throw.
  ProcessCommunicators make(CommunicationImplementation implementation, std::stop_token stop = {},
                            FormedBy formed_by = {}) const;
  int num_hosts() const { return num_hosts_; }

 private:
  std::shared_ptr<Communicator> make_one(CommunicationImplementation implementation, const std::string& name,
                                         const std::stop_token& stop, FormedBy formed_by) const;
  std::shared_ptr<Communicator> over_hosts(const CommunicatorOptions& all, const std::stop_token& stop,
                                           FormedBy formed_by) const;

  CommunicatorOptions options_;
  std::string hosts_text_;
  std::shared_ptr<Rendezvous> rendezvous_;
  int host_ = 0, num_hosts_ = 0;  // of this process, in the order of their first ranks
  int rank_in_host_ = 0, size_of_host_ = 0;
};

}  // namespace nyala::detail
