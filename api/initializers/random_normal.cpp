#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/random_normal.h>

namespace nyala {

using namespace nyala::detail;

void RandomNormalConfig::fields(FieldVisitor& v) {
  v.field("mean", mean);
  v.field("stddev", stddev);
  v.optional("seed", seed, -1);
}

namespace {

class RandomNormalNode final : public InitializerNode {
 public:
  explicit RandomNormalNode(const RandomNormalConfig& config) : config_(config) {}
  std::string class_name() const override { return "RandomNormal"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  int64_t seed() const override { return config_.seed; }
  void fill(const Tensor& value, DrawStream& random) const override {
    fill_each(value, [&] { return config_.mean + config_.stddev * random.normal(); });
  }

 private:
  RandomNormalConfig config_;
};

}  // namespace

RandomNormal::RandomNormal(const Config& config) : Initializer(std::make_shared<RandomNormalNode>(config)) {}

}  // namespace nyala
