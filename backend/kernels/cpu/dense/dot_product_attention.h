#pragma once

namespace nyala {

class KernelTable;

/// Attention and its gradient in blocks of queries whose scores stay in the cache: no tensor of scores.
void register_dot_product_attention(KernelTable& table);

}  // namespace nyala
