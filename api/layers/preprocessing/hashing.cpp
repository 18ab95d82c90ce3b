#include <nyala/api/layers/preprocessing/hashing.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/layers/preprocessing/category_codes.h>
#include <nyala/api/layers/preprocessing/hash_key.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/categories/hashing.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>

namespace nyala {

using namespace nyala::detail;

void HashingConfig::fields(FieldVisitor& v) {
  v.field("num_bins", num_bins);
  v.optional("mask_value", mask_value, kNoToken);
  v.field("salt", salt);
  v.field("output_mode", output_mode);
  v.field("sparse", sparse);
}

namespace {

class HashingNode final : public LayerNode, public TakesWholeNumbers {
 public:
  explicit HashingNode(const HashingConfig& config) : config_(config) {
    check_positive("Hashing", "num_bins", config.num_bins);
    check_not_sparse("Hashing", config.sparse);
    config_.salt = hash_key("Hashing", config.salt);
    if (!is_int()) category_code_of("Hashing", config.output_mode);
    if (is_int() && config.dtype != "int32" && config.dtype != "int64")
      throw InvalidArgumentError(
          "Hashing: expected dtype 'int32' or 'int64' where output_mode is 'int', received " +
          in_quotes(config.dtype));
  }
  std::string class_name() const override { return "Hashing"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool converts_inputs() const override { return false; }  // numbers, as they are

  Tensor call(Call&, const Tensor& input) const override {
    const Tensor values = ops::cast(input, DType::int64);
    const bool has_mask = config_.mask_value != kNoToken && config_.num_bins > 1;
    Tensor bins = ops::hash_buckets(values, bucket_descriptor(config_.num_bins - has_mask, config_.salt));
    if (has_mask) bins = ops::where(values == config_.mask_value, 0, bins + 1);
    if (is_int()) return ops::cast(bins, compute_dtype());
    return encode_categories(
        bins, {category_code_of("Hashing", config_.output_mode), config_.num_bins, compute_dtype()});
  }

 private:
  bool is_int() const { return config_.output_mode == "int"; }

  HashingConfig config_;
};

/// Whole numbers are int64 where the configuration says nothing.
HashingConfig with_dtype(HashingConfig config) {
  if (config.dtype.empty() && config.output_mode == "int") config.dtype = "int64";
  return config;
}

}  // namespace

Hashing::Hashing(const Config& config) : Layer(node_from<HashingNode>(with_dtype(config))) {}

}  // namespace nyala
