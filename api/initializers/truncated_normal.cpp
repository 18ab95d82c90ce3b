#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/truncated_normal.h>

namespace nyala {

using namespace nyala::detail;

void TruncatedNormalConfig::fields(FieldVisitor& v) {
  v.field("mean", mean);
  v.field("stddev", stddev);
  v.optional("seed", seed, -1);
}

namespace {

class TruncatedNormalNode final : public InitializerNode {
 public:
  explicit TruncatedNormalNode(const TruncatedNormalConfig& config) : config_(config) {}
  std::string class_name() const override { return "TruncatedNormal"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  int64_t seed() const override { return config_.seed; }
  void fill(const Tensor& value, DrawStream& random) const override {
    fill_each(value, [&] { return config_.mean + config_.stddev * random.truncated_normal(); });
  }

 private:
  TruncatedNormalConfig config_;
};

}  // namespace

TruncatedNormal::TruncatedNormal(const Config& config)
    : Initializer(std::make_shared<TruncatedNormalNode>(config)) {}

}  // namespace nyala
