#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/api/layers/regularization/stochastic_depth.h>

namespace nyala {

using namespace nyala::detail;

void StochasticDepthConfig::fields(FieldVisitor& v) { v.field("drop_path_rate", drop_path_rate); }

namespace {

class StochasticDepthNode final : public SeededNode {
 public:
  explicit StochasticDepthNode(const StochasticDepthConfig& config)
      : SeededNode(-1, "stochastic_depth"), config_(config) {
    check_fraction("StochasticDepth", "drop_path_rate", config.drop_path_rate);
  }
  std::string class_name() const override { return "StochasticDepth"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || config_.drop_path_rate == 0.0) return x;
    const uint32_t all_but_the_batch = ((1u << x.rank()) - 1) & ~1u;
    return dropped(c, x, config_.drop_path_rate, all_but_the_batch);
  }

 private:
  StochasticDepthConfig config_;
};

}  // namespace

StochasticDepth::StochasticDepth(const Config& config) : Layer(node_from<StochasticDepthNode>(config)) {}

StochasticDepth::StochasticDepth(double drop_path_rate, Config config)
    : StochasticDepth(with(std::move(config), &Config::drop_path_rate, drop_path_rate)) {}

}  // namespace nyala
