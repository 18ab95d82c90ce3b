#include <nyala/api/layers/preprocessing/hash_key.h>

#include <nyala/backend/core/error.h>

namespace nyala {

std::vector<int64_t> detail::hash_key(const std::string& layer, const std::vector<int64_t>& salt) {
  if (salt.size() > 2)
    throw InvalidArgumentError(layer + ": expected one or two numbers as salt, received " +
                               std::to_string(salt.size()));
  return salt.size() == 1 ? std::vector<int64_t>{salt[0], salt[0]} : salt;
}

ops::HashBucketsDescriptor detail::bucket_descriptor(int64_t num_buckets, const std::vector<int64_t>& key) {
  ops::HashBucketsDescriptor out{.num_buckets = num_buckets, .is_keyed = !key.empty()};
  for (size_t i = 0; i < key.size(); ++i) out.key[i] = static_cast<uint64_t>(key[i]);
  return out;
}

}  // namespace nyala
