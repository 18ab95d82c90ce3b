#pragma once

namespace nyala {

class KernelTable;

/// Convolutions of small images by many channels as one product of matrices for each tap: taps beside the
/// image are left out, which the blocks of oneDNN cannot.
void register_shifted_gemm(KernelTable& table);

}  // namespace nyala
