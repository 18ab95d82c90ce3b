#include <nyala/api/initializers/fill.h>
#include <nyala/api/initializers/random_uniform.h>

namespace nyala {

using namespace nyala::detail;

void RandomUniformConfig::fields(FieldVisitor& v) {
  v.field("minval", minval);
  v.field("maxval", maxval);
  v.optional("seed", seed, -1);
}

namespace {

class RandomUniformNode final : public InitializerNode {
 public:
  explicit RandomUniformNode(const RandomUniformConfig& config) : config_(config) {}
  std::string class_name() const override { return "RandomUniform"; }
  void fields(FieldVisitor& v) const override {
    auto shown = config_;
    shown.fields(v);
  }
  int64_t seed() const override { return config_.seed; }
  void fill(const Tensor& value, DrawStream& random) const override {
    fill_each(value, [&] { return random.uniform(config_.minval, config_.maxval); });
  }

 private:
  RandomUniformConfig config_;
};

}  // namespace

RandomUniform::RandomUniform(const Config& config)
    : Initializer(std::make_shared<RandomUniformNode>(config)) {}

}  // namespace nyala
