#pragma once

#include <array>

#include <nyala/backend/core/op.h>

namespace nyala::ops {

struct HashBucketsDescriptor {
  int64_t num_buckets = 1;
  /// True: SipHash under `key`; else FarmHash's fingerprint, which anybody can compute.
  bool is_keyed = false;
  std::array<uint64_t, 2> key{};
};

/// The bucket, 0 to num_buckets - 1 as int64, that the decimal text of each whole number falls into:
/// TensorFlow's to_hash_bucket_fast, or to_hash_bucket_strong where there is a key. Not differentiable.
/// Throws DTypeError for other dtypes, InvalidArgumentError for less than one bucket.
Tensor hash_buckets(const Tensor& values, const HashBucketsDescriptor& descriptor);

/// The bucket of each tuple of whole numbers, one of each tensor (of one shape): TensorFlow's cross_hashed
/// with its own key. Throws as hash_buckets(), and ShapeError for different shapes.
Tensor crossed_hash_buckets(const Tensors& values, int64_t num_buckets);

/// Input (values); any number of inputs, all of int64.
extern const OpDef kHashBuckets, kCrossedHashBuckets;

struct CrossedHashDescriptor {
  int64_t num_buckets = 1;
};

}  // namespace nyala::ops
