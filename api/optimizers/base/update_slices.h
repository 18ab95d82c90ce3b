#pragma once

#include <functional>

#include <nyala/backend/parameters/update_rule.h>

namespace nyala::detail {

/// Runs body(slice) for all slices of a place, on as many threads as the strategy wants. Errors come back to
/// this thread.
void for_slices(const UpdatePlace& place, const std::function<void(int)>& body);

}  // namespace nyala::detail
