#pragma once

#include <string>
#include <vector>

#include <nyala/backend/ops/categories/hashing.h>

namespace nyala::detail {

/// Keras' argument `salt` as two numbers, or none: one stands for both. Throws InvalidArgumentError naming
/// `layer` for more.
std::vector<int64_t> hash_key(const std::string& layer, const std::vector<int64_t>& salt);

/// The hash under such a key, FarmHash's without one.
ops::HashBucketsDescriptor bucket_descriptor(int64_t num_buckets, const std::vector<int64_t>& key);

}  // namespace nyala::detail
