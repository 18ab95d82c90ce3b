#pragma once

#include <cstdint>

namespace nyala::detail {

/// Grows whenever a layer is built or becomes part of another one, and when variables have moved to another
/// strategy: who has looked at a model's variables since needs not look again. Never 0.
uint64_t variable_changes() noexcept;
void note_variable_change() noexcept;

}  // namespace nyala::detail
