// A variational autoencoder of Fashion-MNIST: a layer that draws, a model that is a class with its own train
// step, and the whole back from its file.
//
//   vae [--rows 60000] [--epochs 5] [--devices 1] [--output vae.keras]
#include <nyala/api/layers/base/seeded_node.h>
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

constexpr int64_t kLatent = 2;

/// Mean and logarithm of the variance to a draw of that distribution.
struct Sampling : SeededNode {
  Sampling() : SeededNode(-1, "sampling") {}
  std::string class_name() const override { return "Sampling"; }
  Outputs call(Call& c, Inputs in) const override {
    return {in[0] + ops::exp(0.5 * in[1]) * noise(c, in[0], 0.0, 1.0)};
  }
};

Model make_encoder() {
  const Tensor image = Input({28, 28, 1});
  Tensor x = Conv2D(32, 3, {.strides = 2, .padding = "same", .activation = "relu"})(image);
  x = Conv2D(64, 3, {.strides = 2, .padding = "same", .activation = "relu"})(x);
  x = Dense(16, {.activation = "relu"})(Flatten()(x));
  const Tensor mean = Dense(kLatent)(x), log_variance = Dense(kLatent)(x);
  return Model({.inputs = {image},
                .outputs = {mean, log_variance, make_layer<Sampling>()({mean, log_variance})},
                .name = "encoder"});
}

Model make_decoder() {
  return Sequential({Input({kLatent}), Dense(7 * 7 * 64, {.activation = "relu"}), Reshape({7, 7, 64}),
                     Conv2DTranspose(64, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
                     Conv2DTranspose(32, 3, {.strides = 2, .padding = "same", .activation = "relu"}),
                     Conv2DTranspose(1, 3, {.padding = "same", .activation = "sigmoid"})});
}

struct Vae : ModelNode {
  Model encoder = track("encoder", make_encoder()), decoder = track("decoder", make_decoder());
  Metric reconstruction = track_metric(metrics::Mean({.name = "reconstruction"}));
  Metric divergence = track_metric(metrics::Mean({.name = "divergence"}));

  std::string class_name() const override { return "Vae"; }
  Tensor call(Call& c, const Tensor& x) const override { return decoder(c, encoder(c, Tensors{x})[2]); }

  void train_step(ReplicaStep& step, const Batch& batch) override {
    const Tensor& x = batch.x[0];
    const double rows = static_cast<double>(step.global_rows());
    GradientTape tape;
    const Outputs code = encoder.call_all({x});
    const Tensor image = decoder(code[2]);
    const Tensor reconstruction_loss = ops::binary_crossentropy(x, image).sum() / rows;
    const Tensor divergence_loss =
        (1.0 + code[1] - ops::square(code[0]) - ops::exp(code[1])).sum() * (-0.5 / rows);
    const Tensor loss = reconstruction_loss + divergence_loss;
    step.apply_gradients(tape.gradient(loss, step.trainable_variables()));
    step.track_loss(loss);
    step.track_loss(reconstruction, reconstruction_loss);
    step.track_loss(divergence, divergence_loss);
  }
};

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const auto number = [&](const char* name, int64_t otherwise) {
    return examples::number_argument(argc, argv, name, otherwise);
  };
  const std::string output = examples::text_argument(argc, argv, "--output", "vae.keras");
  set_random_seed(1);
  register_serializable<Sampling>("vae");
  register_serializable<Vae>("vae");

  const auto [train, test] = datasets::fashion_mnist();
  const Tensor x = train.x[slice(number("--rows", 60000))].astype(DType::float32) / 255.0;
  const auto scope = strategy.scope();
  const Model vae = make_model<Vae>();
  vae.compile({.optimizer = Adam(1e-3)});
  vae.fit(x, {}, {.batch_size = 128, .epochs = static_cast<int>(number("--epochs", 5)), .verbose = 2});

  vae.save(output);
  const Model loaded = load_model(output);
  const auto codes = [&](const Model& model) {
    return Model(model.get_layer("encoder")).predict_all({x[slice(100)]}, {.verbose = 0})[0];
  };
  const Tensor difference = ops::abs(codes(vae) - codes(loaded)).max();
  std::printf("codes of the loaded model differ by %g\n", difference.item());
  return difference > 0.0 ? 1 : 0;
}
