#pragma once

#include <memory>
#include <vector>

#include <nyala/strategies/communicators/communicator.h>

namespace nyala {

/// One communicator for each of options.size threads of this process (options.rank is not looked at). Adds in
/// the order of ranks: ((r0 + r1) + r2) + ...
std::vector<std::shared_ptr<Communicator>> local_communicators(const CommunicatorOptions& options);

}  // namespace nyala
