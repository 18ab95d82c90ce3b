// Layers, a loss and a metric of one's own: weights and a configuration, a layer made of layers, a loss with
// an option. The model is saved, loaded again and trained on.
//
//   own_layers_and_losses [--epochs 30] [--devices 1] [--output own.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

/// scale * x + shift for every feature, with its own weights.
struct ScaleConfig {
  double initial = 1.0;
  void fields(FieldVisitor& v) { v.field("initial", initial); }
};
struct Scale : LayerNode {
  using Config = ScaleConfig;
  Config config;
  Variable scale, shift;

  explicit Scale(const Config& given) : config(given) {}
  std::string class_name() const override { return "Scale"; }
  void fields(FieldVisitor& v) override { config.fields(v); }
  void build(Builder& builder, const Shape& input) override {
    scale = builder.weight("scale", {input[-1]}, Constant(config.initial));
    shift = builder.weight("shift", {input[-1]}, "zeros");
  }
  Tensor call(Call& c, const Tensor& x) const override { return x * c[scale] + c[shift]; }
};

/// x + Dense(relu(Scale(x))): a layer made of layers.
struct ResidualConfig {
  int64_t units = 0;
  void fields(FieldVisitor& v) { v.field("units", units); }
};
struct Residual : LayerNode {
  using Config = ResidualConfig;
  Config config;
  Layer scale = track("scale", make_layer<Scale>(ScaleConfig{.initial = 0.5}));
  Layer dense, dropout = track("dropout", Dropout(0.1));

  explicit Residual(const Config& given) : config(given), dense(track("dense", Dense(config.units))) {}
  std::string class_name() const override { return "Residual"; }
  void fields(FieldVisitor& v) override { config.fields(v); }
  Tensor call(Call& c, const Tensor& x) const override {
    return x + dense(c, dropout(c, ops::relu(scale(c, x))));
  }
};

/// Errors below the truth cost `factor` times as much as those above.
struct LopsidedConfig {
  double factor = 1.0;
  void fields(FieldVisitor& v) { v.field("factor", factor); }
};
struct Lopsided : LossNode {
  using Config = LopsidedConfig;
  Config config;

  explicit Lopsided(const Config& given) : config(given) {}
  std::string class_name() const override { return "Lopsided"; }
  std::string name() const override { return "lopsided"; }
  void fields(FieldVisitor& v) const override { Config(config).fields(v); }
  Tensor per_sample(const Tensor& y_true, const Tensor& y_pred) const override {
    const Tensor error = y_pred - y_true;
    return ops::where(error < 0.0, -config.factor * error, error).mean(-1);
  }
};

Tensor share_below(const Tensor& y_true, const Tensor& y_pred) {
  return (y_pred < y_true).astype(DType::float32);
}

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 30));
  const std::string output = examples::text_argument(argc, argv, "--output", "own.keras");
  set_random_seed(1);
  register_serializable<Scale>("mine");
  register_serializable<Residual>("mine");
  register_serializable<Lopsided>("mine");
  register_serializable("mine", "share_below", share_below);

  const Tensor x = ops::random_normal({1000, 8});
  const Tensor y = ops::abs(x).sum(1, true) + ops::random_normal({1000, 1});

  const auto scope = strategy.scope();
  const Tensor input = Input({8});
  Tensor hidden = Dense(16, {.activation = "relu"})(input);
  for (int i = 0; i < 2; ++i) hidden = make_layer<Residual>(ResidualConfig{.units = 16})(hidden);
  const Model model(input, Dense(1)(hidden));
  model.compile({.optimizer = "adam",
                 .loss = Loss(std::make_shared<Lopsided>(LopsidedConfig{.factor = 9.0})),
                 .metrics = {share_below}});
  const History history = model.fit(x, y, {.epochs = epochs, .verbose = 0});
  std::printf("loss %.3f to %.3f, below the truth: %.3f\n", history["loss"].front(), history["loss"].back(),
              history["share_below"].back());

  model.save(output);
  const Model loaded = load_model(output);
  const Tensor difference =
      ops::abs(model.predict(x, {.verbose = 0}) - loaded.predict(x, {.verbose = 0})).max();
  const History more = loaded.fit(x, y, {.verbose = 0});
  std::printf("the loaded model differs by %g and goes on: loss %.3f, below the truth: %.3f\n",
              difference.item(), more["loss"][0], more["share_below"][0]);
  return difference > 0.0 ? 1 : 0;
}
