#pragma once

#include <nyala/backend/parameters/variable.h>

namespace nyala::detail {

/// A variable whose value others have, and this process not yet: one that is started again in the middle of
/// their training passes over what they trained before. Until it is assigned, or no longer awaited, reading
/// its value() and changing a part of it throw StateError. Its copies can still be looked at. Outside of
/// steps.
void set_awaited(const Variable& variable, bool awaited);
bool is_awaited(const Variable& variable) noexcept;
/// Whether there may be any such variable, at the cost of reading one number.
bool any_is_awaited() noexcept;
/// Throws StateError for one.
void check_known(const Variables& variables);

}  // namespace nyala::detail
