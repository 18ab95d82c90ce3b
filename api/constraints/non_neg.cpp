#include <nyala/api/constraints/non_neg.h>
#include <nyala/backend/ops/elementwise/activation.h>

namespace nyala {

namespace {

class NonNegNode final : public ConstraintNode {
 public:
  std::string class_name() const override { return "NonNeg"; }
  Tensor project(const Tensor& w) const override { return ops::relu(w); }
};

}  // namespace

NonNeg::NonNeg() : Constraint(std::make_shared<NonNegNode>()) {}

}  // namespace nyala
