#include <nyala/api/regularizers/factor.h>
#include <nyala/api/regularizers/orthogonal_regularizer.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/exponential.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void OrthogonalRegularizerConfig::fields(FieldVisitor& v) {
  v.field("factor", factor);
  v.field("mode", mode);
}

namespace {

class OrthogonalRegularizerNode final : public RegularizerNode {
 public:
  explicit OrthogonalRegularizerNode(const OrthogonalRegularizerConfig& config) : config_(config) {
    check_factor("OrthogonalRegularizer", "factor", config.factor);
    if (config.factor < 0)
      throw InvalidArgumentError("OrthogonalRegularizer: expected factor >= 0, received " +
                                 number_text(config.factor));
    if (config.mode != "rows" && config.mode != "columns")
      throw InvalidArgumentError("OrthogonalRegularizer: expected mode 'rows' or 'columns', received " +
                                 in_quotes(config.mode));
  }
  std::string class_name() const override { return "OrthogonalRegularizer"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor penalty(const Tensor& w) const override {
    if (w.rank() != 2)
      throw ShapeError("OrthogonalRegularizer: expected a weight of rank 2, received shape " +
                       w.shape().to_string());
    const bool rows = config_.mode == "rows";
    const int64_t size = w.shape()[rows ? 0 : 1];
    const Tensor smallest = Tensor::full({}, 1e-14, w.dtype(), w.device());  // the square of 1e-7
    const Tensor squares = ops::sum(ops::square(w), {rows ? 1 : 0}, true);
    const Tensor unit = w * ops::rsqrt(ops::maximum(squares, smallest));
    const Tensor cosines = ops::matmul(unit, unit, {.transpose_a = !rows, .transpose_b = rows});
    const Tensor others = 1.0 - ops::eye(size, {.dtype = w.dtype(), .device = w.device()});
    const double pairs = static_cast<double>(size) * (static_cast<double>(size) - 1.0) / 2.0;
    return ops::sum(ops::absolute(cosines * others)) * (config_.factor * 0.5) / pairs;
  }

 private:
  OrthogonalRegularizerConfig config_;
};

}  // namespace

OrthogonalRegularizer::OrthogonalRegularizer(const Config& config)
    : Regularizer(std::make_shared<OrthogonalRegularizerNode>(config)) {}

OrthogonalRegularizer::OrthogonalRegularizer(double factor, const std::string& mode)
    : OrthogonalRegularizer(Config{.factor = factor, .mode = mode}) {}

}  // namespace nyala
