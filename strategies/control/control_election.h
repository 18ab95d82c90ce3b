#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include <nyala/strategies/control/control_candidates.h>
#include <nyala/strategies/control/control_client.h>
#include <nyala/strategies/control/control_server.h>

namespace nyala::detail {

struct ControlElectionOptions {
  int rank = 0, size = 1;  ///< as this process was started
  std::vector<std::string> addresses =
      {};                  ///< of all, by rank, as the cluster names them; "" where it does not
  HostPort own = {};       ///< where this process would serve; port 0: a free one
  HostPort fallback = {};  ///< where another one than rank 0 would where that is not possible
  ControlSecurity security = {};
  int min_size = 0;        ///< as ControlStateOptions
  bool come_back = false;  ///< somebody starts processes again that were lost
  std::chrono::milliseconds rejoin_timeout = std::chrono::seconds(30);
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  ///< of the first generation
  std::chrono::milliseconds heartbeat = std::chrono::seconds(2);
};

/// A control plane that outlives the process that runs it: each process listens, one of them serves. At the
/// start that is rank 0; when it is lost, the lowest rank that is left. All look for one who serves already
/// first, also rank 0: it may have been started again. Two may serve for a moment, but not form two
/// generations (ControlStateOptions::is_elected), and all soon go to one (best_server()).
class ControlElection {
 public:
  /// Listens. Throws IoError where rank 0 cannot, and as check_control_security().
  explicit ControlElection(ControlElectionOptions options);
  ~ControlElection();

  /// Where this process listens, for the others.
  const HostPort& own_address() const { return server_->address(); }
  /// Joins the next generation, of a client that `is_elected`, wherever that forms. Waits for the others for
  /// `timeout` the first time; later, where fewer may go on, for `rejoin_timeout` and five heartbeats. Throws
  /// TimeoutError naming who does not come or what was seen of whom, and as ControlClient::join().
  void join(ControlClient& client);
  /// Who serves, as it was started, and where.
  const ControlCandidate& server() const { return current_; }
  /// As ControlServer's, where this process serves.
  void wait_until_left(std::chrono::milliseconds timeout) const { server_->wait_until_left(timeout); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Attempt;

  std::chrono::milliseconds patience(bool is_first) const;
  void learn(const std::vector<ControlMember>& members);
  void learn_of_askers();
  void learn(int rank, const std::string& address);
  ControlSight own_sight() const;
  std::vector<ControlSight> look();
  std::vector<ControlSight> see(std::vector<ControlCandidate> candidates) const;
  std::vector<ControlCandidate> known(const std::vector<int>& ranks) const;
  bool may_serve(const std::vector<ControlSight>& sights, uint64_t generation, Clock::time_point begun) const;
  std::optional<ControlCandidate> choose(const std::vector<ControlSight>& sights, uint64_t generation,
                                         Clock::time_point begun);
  bool join_one(ControlClient& client, const ControlCandidate& candidate, Clock::time_point deadline);
  void guard(const std::stop_token& stop, Attempt& attempt);
  bool guard_own();

  ControlElectionOptions options_;
  ControlLook look_;
  std::unique_ptr<ControlServer> server_;
  std::vector<std::string> addresses_;
  std::set<int> met_;  // ranks that were in a generation with this process, as they were started
  ControlCandidate current_;
};

}  // namespace nyala::detail
