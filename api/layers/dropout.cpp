#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/dropout.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/dropout.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

void DropoutConfig::fields(FieldVisitor& v) {
  v.field("rate", rate);
  v.field("noise_shape", noise_shape);
  v.optional("seed", seed, -1);
}

namespace {

class DropoutNode final : public LayerNode {
 public:
  explicit DropoutNode(const DropoutConfig& config)
      : config_(config),
        key_(config.seed >= 0 ? mix_key(static_cast<uint64_t>(config.seed), "dropout")
                              : next_unseeded_key()) {
    if (!(config.rate >= 0 && config.rate <= 1))
      throw InvalidArgumentError("Dropout: expected rate in [0, 1], received " + std::to_string(config.rate));
    for (int64_t size : config.noise_shape)
      if (size <= 0 && size != None)
        throw InvalidArgumentError("Dropout: expected sizes above 0 or None in noise_shape, received " +
                                   std::to_string(size));
  }
  std::string class_name() const override { return "Dropout"; }
  bool supports_masking() const override { return true; }
  void fields(FieldVisitor& v) override { config_.fields(v); }

  using LayerNode::call;
  Tensor call(Call& c, const Tensor& x) const override {
    if (!c.training() || config_.rate == 0.0) return x;
    check_floating(x);
    const RandomKey draw = c.random_key(key_);
    ops::DropoutDescriptor dropout{.rate = config_.rate, .key = draw.key, .first_row = draw.first_row};
    if (!config_.noise_shape.empty())
      dropout.noise_axes = ops::dropout_noise_axes(x.shape(), Shape(config_.noise_shape));
    const Tensor step = c.step().defined() ? c.step() : Tensor::zeros({}, DType::int64, x.device());
    return ops::dropout(x, step, dropout);
  }
  uint64_t* random_key() override { return &key_; }

 private:
  DropoutConfig config_;
  uint64_t key_;
};

}  // namespace

Dropout::Dropout(const Config& config)
    : Layer(finish_layer(std::make_shared<DropoutNode>(config),
                         {config.name, config.trainable, config.dtype})) {}

Dropout::Dropout(double rate, Config config)
    : Dropout([&] {
        config.rate = rate;
        return std::move(config);
      }()) {}

}  // namespace nyala
