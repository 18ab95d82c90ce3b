#include <nyala/api/layers/preprocessing/hashed_crossing.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/layers/preprocessing/category_codes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/categories/hashing.h>

namespace nyala {

using namespace nyala::detail;

void HashedCrossingConfig::fields(FieldVisitor& v) {
  v.field("num_bins", num_bins);
  v.field("output_mode", output_mode);
  v.field("sparse", sparse);
}

namespace {

class HashedCrossingNode final : public LayerNode, public TakesWholeNumbers {
 public:
  explicit HashedCrossingNode(const HashedCrossingConfig& config) : config_(config) {
    check_positive("HashedCrossing", "num_bins", config.num_bins);
    check_not_sparse("HashedCrossing", config.sparse);
    if (config.output_mode != "int" && config.output_mode != "one_hot")
      throw InvalidArgumentError("HashedCrossing: expected output_mode 'int' or 'one_hot', received " +
                                 in_quotes(config.output_mode) +
                                 did_you_mean(config.output_mode, {"int", "one_hot"}));
  }
  std::string class_name() const override { return "HashedCrossing"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool converts_inputs() const override { return false; }  // numbers, as they are
  bool takes_many() const override { return true; }

  void build(Builder&, const Shapes& inputs) override {
    if (inputs.size() < 2)
      throw InvalidArgumentError("expected two features or more, received " + std::to_string(inputs.size()));
    for (const Shape& shape : inputs)
      if (shape.rank() > 2 || (shape.rank() == 2 && shape[1] != 1) || !matches(shape, inputs[0]))
        throw ShapeError("expected features of one shape, (batch) or (batch, 1), received " +
                         inputs[0].to_string() + " and " + shape.to_string());
  }

  Outputs call(Call&, Inputs inputs) const override {
    const Tensor bins = ops::crossed_hash_buckets({inputs.begin(), inputs.end()}, config_.num_bins);
    if (config_.output_mode == "int") return {ops::cast(bins, compute_dtype())};
    return {encode_categories(bins, {CategoryCode::one_hot, config_.num_bins, compute_dtype()})};
  }

 private:
  HashedCrossingConfig config_;
};

/// Whole numbers are int64 where the configuration says nothing.
HashedCrossingConfig with_dtype(HashedCrossingConfig config) {
  if (config.dtype.empty() && config.output_mode == "int") config.dtype = "int64";
  return config;
}

}  // namespace

HashedCrossing::HashedCrossing(const Config& config)
    : Layer(node_from<HashedCrossingNode>(with_dtype(config))) {}

}  // namespace nyala
