#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <nyala/datasets/base/element.h>

namespace nyala {

/// 128 bits that tell rows of data apart: equal bytes, shapes and dtypes give equal keys, others differ but
/// for a chance of about 2^-128. Not for keeping secrets.
struct RowKey {
  uint64_t first = 0, second = 0;
  friend bool operator==(const RowKey&, const RowKey&) = default;
};

struct RowKeyHash {
  size_t operator()(const RowKey& key) const { return static_cast<size_t>(key.first ^ (key.second >> 1)); }
};

/// The key of row `row` of tensors on the host; `salt` keeps different uses apart.
RowKey row_key(const Tensors& tensors, int64_t row, uint64_t salt);

}  // namespace nyala
