#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/permute.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/transpose.h>

namespace nyala {

using namespace nyala::detail;

void PermuteConfig::fields(FieldVisitor& v) { v.field("dims", dims); }

namespace {

/// The axes as a transpose takes them.
std::vector<int> order_of(const std::vector<int64_t>& dims) {
  std::vector<int> order{0};
  std::vector<bool> seen(dims.size() + 1);
  for (const int64_t dim : dims) {
    if (dim < 1 || dim > static_cast<int64_t>(dims.size()) || seen[static_cast<size_t>(dim)])
      throw InvalidArgumentError("Permute: expected each of 1 to " + std::to_string(dims.size()) +
                                 " once in dims, received " + std::to_string(dim));
    seen[static_cast<size_t>(dim)] = true;
    order.push_back(static_cast<int>(dim));
  }
  return order;
}

class PermuteNode final : public LayerNode {
 public:
  explicit PermuteNode(const PermuteConfig& config) : config_(config), order_(order_of(config.dims)) {}
  std::string class_name() const override { return "Permute"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override {
    check_rank(input, static_cast<int>(order_.size()), "(the batch and as many axes as dims)");
  }

  Tensor call(Call&, const Tensor& x) const override { return ops::transpose(x, order_); }

 private:
  PermuteConfig config_;
  std::vector<int> order_;
};

}  // namespace

Permute::Permute(const Config& config) : Layer(node_from<PermuteNode>(config)) {}

}  // namespace nyala
