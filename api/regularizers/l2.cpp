#include <nyala/api/regularizers/factor.h>
#include <nyala/api/regularizers/l2.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void L2Config::fields(FieldVisitor& v) { v.field("l2", l2); }

namespace {

class L2Node final : public RegularizerNode {
 public:
  explicit L2Node(const L2Config& config) : config_(config) { check_factor("L2", "l2", config.l2); }
  std::string class_name() const override { return "L2"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor penalty(const Tensor& w) const override { return ops::sum(ops::square(w)) * config_.l2; }

 private:
  L2Config config_;
};

}  // namespace

L2::L2(const Config& config) : Regularizer(std::make_shared<L2Node>(config)) {}

L2::L2(double l2) : L2(Config{.l2 = l2}) {}

}  // namespace nyala
