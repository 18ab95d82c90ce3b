#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <nyala/strategies/cluster/address.h>
#include <nyala/strategies/control/control_state.h>
#include <nyala/strategies/cluster/environment.h>

namespace nyala::detail {

/// Who may take part in a cluster, and who can listen.
struct ControlSecurity {
  std::string token = {};             ///< that all processes have; whoever can read the network can read it
  std::string ca_file = {};           ///< PEM files of TLS in both directions: all three or none
  std::string certificate_file = {};  ///< of this process, signed by the authority of ca_file
  std::string key_file = {};
  bool insecure = false;  ///< off the loopback without token and TLS, knowingly

  bool has_tls() const { return !ca_file.empty(); }
};

/// From NYALA_TOKEN, NYALA_TLS_CA, NYALA_TLS_CERT, NYALA_TLS_KEY and NYALA_INSECURE ("1").
ControlSecurity control_security_of(const Environment& environment);

/// Throws InvalidArgumentError naming what is missing: one of the files of TLS, or, for an address that is
/// not this machine's to itself, token and TLS both unless `insecure` is set.
void check_control_security(const HostPort& address, const ControlSecurity& security);

/// A way to the control plane. Functions are thread-safe.
class ControlConnection {
 public:
  virtual ~ControlConnection() = default;
  /// Returns when the control plane is there. Throws TimeoutError where it is not in that time, with what the
  /// last attempt ended with: nobody listens, or one who has other certificates.
  virtual void await(std::chrono::milliseconds timeout) = 0;
  /// The answer to a message. Throws TimeoutError where there is none in that time, PeerLostError where the
  /// connection broke, CommunicationError else; all name the address.
  virtual std::string call(const std::string& message, std::chrono::milliseconds timeout) = 0;
  /// Calls that wait throw soon, and later ones do.
  virtual void cancel() noexcept = 0;
};

/// Carries messages to a ControlState. Ends with the object.
class ControlListener {
 public:
  virtual ~ControlListener() = default;
  virtual int port() const = 0;
};

/// Whether this build has gRPC. The two functions below throw NotFoundError, saying what to install, where
/// not.
bool grpc_is_built();

/// Does not wait for a connection: the first call does.
std::unique_ptr<ControlConnection> connect_control(const HostPort& address, const ControlSecurity& security);

/// Listens on that address alone, on a free port where it is 0. Throws IoError where it is taken or none of
/// this machine, or a file of TLS cannot be read.
std::unique_ptr<ControlListener> listen_control(const HostPort& address, const ControlSecurity& security,
                                                ControlState& state);

}  // namespace nyala::detail
