#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace nyala {

/// By what processes exchange numbers.
enum class CommunicationImplementation {
  automatic,      ///< shared memory within a host, Gloo (TCP) between hosts
  shared_memory,  ///< all processes are on one host
  gloo,           ///< TCP between all processes, also those of one host
  nccl,           ///< between GPUs
};

/// "automatic", "shared_memory", ...
std::string_view name_of(CommunicationImplementation implementation);

/// How the processes of a strategy exchange numbers, as tf.distribute.experimental.CommunicationOptions. All
/// processes have the same; where they do not, they say so at the start.
struct CommunicationOptions {
  /// Gradients of so many bytes or more are one exchange; 0: 256 KB.
  int64_t bytes_per_pack = 0;
  /// Nobody waits for another process longer than that, neither at the start nor in a step. (TensorFlow:
  /// timeout_seconds, without an end by default.)
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  CommunicationImplementation implementation = CommunicationImplementation::automatic;
  /// Gloo neither encrypts nor asks who connects. Between hosts it needs this, which says that nobody else is
  /// in their network (a VPN, a private network).
  bool trusted_network = false;
};

namespace detail {

/// Throws InvalidArgumentError for a negative number of bytes and a timeout that is not positive.
void check_communication_options(const CommunicationOptions& options);

}  // namespace detail

}  // namespace nyala
