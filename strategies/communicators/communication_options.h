#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <nyala/backend/core/dtype.h>

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
  /// What gradients travel in between processes, float32 or bfloat16, as PyTorch's bf16_compress_hook.
  /// bfloat16 halves the bytes: each process rounds the sums of its replicas, which are added in float32 and
  /// rounded once more, so that all processes have the same bits. Costs accuracy: numbers are those of one
  /// device within 2e-3. Float32 stay sums of a process and, where processes share memory on each of several
  /// hosts, of a host; gradients of tables that travel as rows; and all that is no gradient (metrics, losses,
  /// statistics of BatchNormalization, reduce()).
  DType wire_dtype = DType::float32;
  /// Gloo neither encrypts nor asks who connects. Between hosts it needs this, which says that nobody else is
  /// in their network (a VPN, a private network).
  bool trusted_network = false;
};

namespace detail {

/// Whether gradients may travel in `dtype`.
constexpr bool is_wire_dtype(DType dtype) { return dtype == DType::float32 || dtype == DType::bfloat16; }

/// Throws InvalidArgumentError for a negative number of bytes, a timeout that is not positive and a
/// wire_dtype that is not one of the two.
void check_communication_options(const CommunicationOptions& options);

}  // namespace detail

}  // namespace nyala
