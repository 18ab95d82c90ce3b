#include <nyala/api/regularizers/factor.h>
#include <nyala/api/regularizers/l1_l2.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void L1L2Config::fields(FieldVisitor& v) {
  v.field("l1", l1);
  v.field("l2", l2);
}

namespace {

class L1L2Node final : public RegularizerNode {
 public:
  explicit L1L2Node(const L1L2Config& config) : config_(config) {
    check_factor("L1L2", "l1", config.l1);
    check_factor("L1L2", "l2", config.l2);
  }
  std::string class_name() const override { return "L1L2"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor penalty(const Tensor& w) const override {
    const Tensor squares = ops::sum(ops::square(w)) * config_.l2;
    return config_.l1 == 0.0 ? squares : ops::sum(ops::absolute(w)) * config_.l1 + squares;
  }

 private:
  L1L2Config config_;
};

}  // namespace

L1L2::L1L2(const Config& config) : Regularizer(std::make_shared<L1L2Node>(config)) {}

}  // namespace nyala
