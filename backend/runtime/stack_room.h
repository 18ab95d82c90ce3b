#pragma once

namespace nyala::detail {

/// Throws StateError where the calling thread's stack is nearly full: for calls that may be nested without a
/// bound, as layers in layers are. A stack that is not the thread's own (a coroutine's) is not looked at.
void check_stack_room();

}  // namespace nyala::detail
