#pragma once

namespace nyala {

class KernelTable;

/// Transpose, slice, pad, concatenate, repeat and their gradients: strided copies by whole rows or by tiles,
/// in parallel, of any dtype.
void register_copies(KernelTable& table);

}  // namespace nyala
