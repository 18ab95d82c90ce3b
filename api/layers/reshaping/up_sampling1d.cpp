#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/up_sampling1d.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/ops/shape/repeat.h>

namespace nyala {

using namespace nyala::detail;

void UpSampling1DConfig::fields(FieldVisitor& v) { v.field("size", size); }

namespace {

class UpSampling1DNode final : public LayerNode {
 public:
  explicit UpSampling1DNode(const UpSampling1DConfig& config) : config_(config) {
    check_positive("UpSampling1D", "size", config.size);
  }
  std::string class_name() const override { return "UpSampling1D"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { check_rank(input, 3, "(batch, steps, channels)"); }

  Tensor call(Call&, const Tensor& x) const override {
    return ops::repeat(x, static_cast<int>(config_.size), 1);
  }

 private:
  UpSampling1DConfig config_;
};

}  // namespace

UpSampling1D::UpSampling1D(const Config& config) : Layer(node_from<UpSampling1DNode>(config)) {}

UpSampling1D::UpSampling1D(int64_t size, Config config)
    : UpSampling1D(with(std::move(config), &Config::size, size)) {}

}  // namespace nyala
