#include <nyala/api/regularizers/factor.h>
#include <nyala/api/regularizers/l1.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>

namespace nyala {

using namespace nyala::detail;

void L1Config::fields(FieldVisitor& v) { v.field("l1", l1); }

namespace {

class L1Node final : public RegularizerNode {
 public:
  explicit L1Node(const L1Config& config) : config_(config) { check_factor("L1", "l1", config.l1); }
  std::string class_name() const override { return "L1"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  Tensor penalty(const Tensor& w) const override { return ops::sum(ops::absolute(w)) * config_.l1; }

 private:
  L1Config config_;
};

}  // namespace

L1::L1(const Config& config) : Regularizer(std::make_shared<L1Node>(config)) {}

L1::L1(double l1) : L1(Config{.l1 = l1}) {}

}  // namespace nyala
