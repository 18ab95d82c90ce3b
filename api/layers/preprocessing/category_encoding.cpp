#include <nyala/api/layers/preprocessing/category_encoding.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/layers/preprocessing/category_codes.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

void CategoryEncodingConfig::fields(FieldVisitor& v) {
  v.optional("num_tokens", num_tokens, 0);
  v.field("output_mode", output_mode);
  v.field("sparse", sparse);
}

namespace {

class CategoryEncodingNode final : public LayerNode, public TakesWholeNumbers {
 public:
  explicit CategoryEncodingNode(const CategoryEncodingConfig& config)
      : config_(config), code_(category_code_of("CategoryEncoding", config.output_mode)) {
    check_positive("CategoryEncoding", "num_tokens", config.num_tokens);
    check_not_sparse("CategoryEncoding", config.sparse);
  }
  std::string class_name() const override { return "CategoryEncoding"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool converts_inputs() const override { return false; }  // class numbers, as they are

  bool takes_many() const override { return has_weights_; }
  void build(Builder&, const Shapes& inputs) override {
    if (inputs.size() > 2)
      throw InvalidArgumentError("expected numbers and perhaps weights, received " +
                                 std::to_string(inputs.size()) + " inputs");
    if (inputs.size() == 2 && code_ != CategoryCode::count)
      throw InvalidArgumentError("expected weights for output_mode 'count' only, received them for " +
                                 in_quotes(config_.output_mode));
    if (inputs.size() == 2 && !matches(inputs[1], inputs[0]) && !matches(inputs[0], inputs[1]))
      throw ShapeError("expected weights of the numbers' shape " + inputs[0].to_string() + ", received " +
                       inputs[1].to_string());
    has_weights_ = inputs.size() == 2;
  }

  Tensor call(Call&, const Tensor& numbers) const override { return encoded(numbers, {}); }
  Outputs call(Call&, Inputs inputs) const override {
    return {encoded(inputs[0], inputs.size() == 2 ? ops::cast(inputs[1], compute_dtype()) : Tensor())};
  }

 private:
  Tensor encoded(const Tensor& numbers, const Tensor& weights) const {
    return encode_categories(numbers, {code_, config_.num_tokens, compute_dtype(), weights});
  }

  CategoryEncodingConfig config_;
  CategoryCode code_;
  bool has_weights_ = false;
};

}  // namespace

CategoryEncoding::CategoryEncoding(const Config& config) : Layer(node_from<CategoryEncodingNode>(config)) {}

CategoryEncoding::CategoryEncoding(int64_t num_tokens, Config config)
    : CategoryEncoding(with(std::move(config), &Config::num_tokens, num_tokens)) {}

}  // namespace nyala
