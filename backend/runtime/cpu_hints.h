#pragma once

namespace nyala {

/// Tells the core that the thread spins; nothing on CPUs without such a hint.
void spin_pause();

/// Makes the calling thread treat denormal floats as zero, on CPUs that can: they cost a hundred times an
/// ordinary number, and decaying momenta run into them.
void flush_denormals();

/// Asks the scheduler not to push another thread off its core when the calling thread wakes: threads that
/// share cores then work from one meeting to the next with their data in cache. Only Linux knows such a hint.
void wake_politely();

}  // namespace nyala
