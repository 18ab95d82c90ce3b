#pragma once

namespace nyala {

/// Tells the core that the thread spins; nothing on CPUs without such a hint.
void spin_pause();

/// Asks the scheduler not to push another thread off its core when the calling thread wakes: threads that
/// share cores then work from one meeting to the next with their data in cache. Only Linux knows such a hint.
void wake_politely();

}  // namespace nyala
