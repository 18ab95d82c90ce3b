#pragma once

namespace nyala::onednn {

/// oneDNN does not look whether posix_memalign() and mmap() gave it memory, but writes there, and its operator
/// new may throw inside of a team of threads. After this its calls of the three give a reserve of ours back to
/// the system where they fail, and try once more. To be called before a primitive is made, which also fills the
/// reserve up again. It changes where the loaded libdnnl looks these functions up, for all who use it in this
/// process; nothing where there is no such library (oneDNN as a static one). Thread-safe, never throws.
void guard_memory() noexcept;

}  // namespace nyala::onednn
