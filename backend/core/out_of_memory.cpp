#include <nyala/backend/core/out_of_memory.h>

namespace nyala {

namespace {

// Copies of it allocate nothing, and what is thrown has memory of its own set aside by the C++ runtime.
const OutOfMemoryError* const g_bare =
    new OutOfMemoryError("no memory left, not even for saying what it was wanted for");

}  // namespace

void throw_bare_out_of_memory() { throw OutOfMemoryError(*g_bare); }

}  // namespace nyala
