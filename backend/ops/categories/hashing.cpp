#include <nyala/backend/ops/categories/hashing.h>

#include <charconv>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/categories/fingerprint.h>

namespace nyala::ops {

using namespace nyala::detail;
using namespace nyala::ops::detail;

namespace {

/// The first value of a crossed hash where the caller names none (TensorFlow's hash_key).
constexpr uint64_t kCrossKey = 0xDECAFCAFFE;

void check_whole(const Tensor& values, const OpDef& op) {
  if (is_floating(values.dtype()) || values.dtype() == DType::bool_)
    throw DTypeError(std::string(op.name) + ": expected whole numbers, received " +
                     std::string(name_of(values.dtype())));
}

void check_buckets(int64_t num_buckets, const OpDef& op) {
  if (num_buckets < 1)
    throw InvalidArgumentError(std::string(op.name) + ": expected at least one bucket, received " +
                               std::to_string(num_buckets));
}

void infer_hash_buckets(InferContext& c) { c.output(0, c.shape(0), DType::int64); }

void hash_buckets_reference(const KernelCall& call) {
  const auto& d = call.descriptor<HashBucketsDescriptor>();
  const int64_t count = call.output(0).num_elements();
  const auto* values = call.in<int64_t>(0);
  for (int64_t i = 0; i < count; ++i) {
    char digits[24];
    const std::string_view text(digits, std::to_chars(digits, std::end(digits), values[i]).ptr);
    const uint64_t hash = d.is_keyed ? keyed_fingerprint64(d.key, text) : fingerprint64(text);
    call.out<int64_t>(0)[i] = static_cast<int64_t>(hash % static_cast<uint64_t>(d.num_buckets));
  }
}

void infer_crossed(InferContext& c) {
  for (size_t i = 1; i < c.num_inputs(); ++i)
    if (!matches(c.shape(i), c.shape(0)))
      c.fail("expected tensors of one shape, received " + c.shape(0).to_string() + " and " +
             c.shape(i).to_string());
  c.output(0, c.shape(0), DType::int64);
}

void crossed_reference(const KernelCall& call) {
  const auto buckets = static_cast<uint64_t>(call.descriptor<CrossedHashDescriptor>().num_buckets);
  const int64_t count = call.output(0).num_elements();
  for (int64_t i = 0; i < count; ++i) {
    uint64_t hash = kCrossKey;
    for (size_t feature = 0; feature < call.inputs.size(); ++feature)
      hash = joined_fingerprint64(hash, static_cast<uint64_t>(call.in<int64_t>(feature)[i]));
    call.out<int64_t>(0)[i] = static_cast<int64_t>(hash % buckets);
  }
}

}  // namespace

const OpDef kHashBuckets = {
    .name = "hash_buckets", .infer = infer_hash_buckets, .reference = hash_buckets_reference};
const OpDef kCrossedHashBuckets = {
    .name = "crossed_hash_buckets", .infer = infer_crossed, .reference = crossed_reference};

Tensor hash_buckets(const Tensor& values, const HashBucketsDescriptor& descriptor) {
  check_whole(values, kHashBuckets);
  check_buckets(descriptor.num_buckets, kHashBuckets);
  const Tensor numbers = cast(values, DType::int64);
  return dispatch(kHashBuckets, descriptor, {&numbers});
}

Tensor crossed_hash_buckets(const Tensors& values, int64_t num_buckets) {
  check_buckets(num_buckets, kCrossedHashBuckets);
  Tensors numbers;
  std::vector<const Tensor*> inputs;
  for (const Tensor& value : values) {
    check_whole(value, kCrossedHashBuckets);
    numbers.push_back(cast(value, DType::int64));
  }
  if (numbers.empty())
    throw InvalidArgumentError("crossed_hash_buckets: expected at least one tensor, received none");
  for (const Tensor& each : numbers) inputs.push_back(&each);
  Tensor result;
  dispatch(kCrossedHashBuckets, CrossedHashDescriptor{num_buckets}, inputs, std::span(&result, 1));
  return result;
}

}  // namespace nyala::ops
