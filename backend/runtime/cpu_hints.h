#pragma once

namespace nyala {

/// Tells the core that the thread spins; nothing on CPUs without such a hint.
void spin_pause();

/// Makes the calling thread treat denormal floats as zero, on CPUs that can: they cost a hundred times an
/// ordinary number, and decaying momenta run into them.
void flush_denormals();

}  // namespace nyala
