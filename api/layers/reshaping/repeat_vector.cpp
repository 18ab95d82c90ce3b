#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/reshaping/repeat_vector.h>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/ops/shape/repeat.h>
#include <nyala/backend/ops/shape/shape.h>

namespace nyala {

using namespace nyala::detail;

void RepeatVectorConfig::fields(FieldVisitor& v) { v.field("n", n); }

namespace {

class RepeatVectorNode final : public LayerNode {
 public:
  explicit RepeatVectorNode(const RepeatVectorConfig& config) : config_(config) {
    check_positive("RepeatVector", "n", Size<1>(config.n));
  }
  std::string class_name() const override { return "RepeatVector"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  void build(Builder&, const Shape& input) override { check_rank(input, 2, "(batch, features)"); }

  Tensor call(Call&, const Tensor& x) const override {
    return ops::repeat(ops::expand_dims(x, 1), config_.n, 1);
  }

 private:
  RepeatVectorConfig config_;
};

}  // namespace

RepeatVector::RepeatVector(const Config& config) : Layer(node_from<RepeatVectorNode>(config)) {}

RepeatVector::RepeatVector(int64_t n, Config config) : RepeatVector(with(std::move(config), &Config::n, n)) {}

}  // namespace nyala
