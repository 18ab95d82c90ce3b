#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <nyala/strategies/communicators/communicator.h>

namespace nyala {

/// Ranks on several hosts: `inside` joins those of a host, `between` one rank of each host, rank 0 of its
/// `inside` (the others pass null). Reduces inside, exchanges between, spreads inside; options.rank and size
/// are among all, in any order over the hosts. Collective, for options.timeout a call, or until `formed_by`:
/// throws CommunicationError where the ranks of all are not 0 to size - 1.
///
/// Adds in the order of ranks inside, then in the order of hosts in `between`; float16 and bfloat16 are
/// rounded once, in the end. With a wire_dtype what goes by `between` is rounded, sums inside are not. A call
/// that fails kills all three; where the other side of the hosts is late, ranks that only wait for their own
/// host's may learn it half a second after the timeout.
std::shared_ptr<Communicator> hierarchical_communicator(
    const CommunicatorOptions& options, std::shared_ptr<Communicator> inside,
    std::shared_ptr<Communicator> between,
    std::optional<std::chrono::steady_clock::time_point> formed_by = {});

}  // namespace nyala
