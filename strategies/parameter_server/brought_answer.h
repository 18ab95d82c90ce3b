#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <nyala/strategies/parameter_server/parameter_transport.h>

namespace nyala::detail {

/// What all brought to a meeting, as the chief's answer; null: the meeting is over without it.
ParameterAnswer as_answer(const std::shared_ptr<const std::vector<std::vector<std::byte>>>& brought);

}  // namespace nyala::detail
