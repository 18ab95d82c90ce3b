#pragma once

namespace nyala {

class KernelTable;

/// Gradients of depthwise conv2d by own loops, where oneDNN has only slow ones.
void register_depthwise(KernelTable& table);

}  // namespace nyala
