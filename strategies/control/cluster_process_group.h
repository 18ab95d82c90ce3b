#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <nyala/strategies/cluster/cluster_resolver.h>
#include <nyala/strategies/control/control_client.h>
#include <nyala/strategies/control/control_election.h>
#include <nyala/strategies/control/control_server.h>
#include <nyala/strategies/communicators/communication_options.h>
#include <nyala/strategies/communicators/process_group.h>

namespace nyala::detail {

/// When a lost process is not the end, where nobody says so (nyala launch does).
struct ElasticOptions {
  int min_workers = 0;  ///< so few go on without the others; 0: only all
  std::chrono::milliseconds rejoin_timeout = std::chrono::seconds(30);  ///< that they wait for the others
};

struct ClusterProcessGroupOptions {
  HostPort coordinator = {};  ///< where the control plane is
  bool serves = false;        ///< this process runs it there
  bool is_chiefs = false;     ///< it ends with the process that was started as rank 0
  bool comes_back = false;    ///< somebody starts processes again that were lost, or goes on without them
  ElasticOptions elastic = {};
  /// By rank, "" where it is not known. Where processes can be lost and nobody else keeps the control plane,
  /// they elect who does: `serves` and `coordinator` hold for the start.
  std::vector<std::string> addresses = {};

  bool can_rejoin() const { return comes_back || elastic.min_workers > 0; }
  bool is_elected() const { return can_rejoin() && is_chiefs; }
  ControlSecurity security = {};
  int rank = 0, size = 1;  ///< as this process was started
  CommunicationOptions communication = {};
  ControlFacts facts = {};  ///< beside those of the library and of `communication`
};

/// Processes that meet at a control plane: by it they find each other, hear within about a second that one of
/// them is lost or has given up, with the first error's text, and begin the next generation.
class ClusterProcessGroup final : public ProcessGroup {
 public:
  /// Throws IoError where the control plane cannot listen at its address, and as check_control_security().
  explicit ClusterProcessGroup(ClusterProcessGroupOptions options);
  /// Leaves; where an exception ends what the program did with it, the generation ends for the others, too.
  ~ClusterProcessGroup() override;

  ProcessCommunicators join() override;
  std::optional<std::chrono::steady_clock::time_point> agreed_by() const override { return deadline_; }
  bool can_rejoin() const override;
  std::string ended_by() const override;
  void abort(const std::string& reason) noexcept override;
  void take_newcomers(bool takes) noexcept override;
  /// The process that runs the control plane waits until the others have left.
  void leave() noexcept override;
  std::string describe() const override;

 private:
  class Generation;

  void elect();
  const HostPort& coordinator() const;
  void meet();
  void begin();
  void give_up(const std::string& reason, bool for_good) noexcept;
  ProcessCommunicators connect();

  ClusterProcessGroupOptions options_;
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<ControlElection> election_;  // null: it stays where it is
  std::shared_ptr<Generation> generation_;
  std::shared_ptr<ControlClient> client_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;  // of connecting
  int exceptions_;
  bool has_left_ = false;
};

/// The group of the cluster that the resolver names, at the control plane that NYALA_COORDINATOR names (nyala
/// launch), else at that of the chief, which runs it at its address. NYALA_REJOIN=1 says that whoever started
/// the processes starts lost ones again, `elastic`, or NYALA_MIN_WORKERS and NYALA_REJOIN_TIMEOUT (seconds)
/// in its place, how few go on; then the processes elect another one when the chief is lost. None where the
/// process trains alone. Throws InvalidArgumentError for a cluster that check_cluster() refuses, or with
/// parameter servers, and for numbers that do not fit it.
std::shared_ptr<ProcessGroup> cluster_process_group(const ClusterResolver& resolver,
                                                    const CommunicationOptions& communication,
                                                    const Environment& environment = {},
                                                    ElasticOptions elastic = {});

}  // namespace nyala::detail
