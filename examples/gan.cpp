// A generative adversarial network on Fashion-MNIST: two models, two optimizers, one train step that fit runs
// on every replica. The generator comes back from its file.
//
//   gan [--rows 60000] [--epochs 10] [--devices 1] [--output generator.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

constexpr int64_t kLatent = 64;

Model make_generator() {
  return Sequential({Input({kLatent}), Dense(7 * 7 * 64), LeakyReLU(0.2), Reshape({7, 7, 64}),
                     Conv2DTranspose(64, 4, {.strides = 2, .padding = "same"}), LeakyReLU(0.2),
                     Conv2DTranspose(32, 4, {.strides = 2, .padding = "same"}), LeakyReLU(0.2),
                     Conv2D(1, 5, {.padding = "same", .activation = "sigmoid"})});
}

Model make_discriminator() {
  return Sequential({Input({28, 28, 1}), Conv2D(32, 4, {.strides = 2, .padding = "same"}), LeakyReLU(0.2),
                     Conv2D(64, 4, {.strides = 2, .padding = "same"}), LeakyReLU(0.2), Flatten(),
                     Dropout(0.2), Dense(1)});
}

struct Gan : ModelNode {
  Model generator = track("generator", make_generator());
  Model discriminator = track("discriminator", make_discriminator());
  Optimizer generator_optimizer =
      track_optimizer("generator_optimizer", Adam({.learning_rate = 3e-4, .beta_1 = 0.5}));
  Optimizer discriminator_optimizer =
      track_optimizer("discriminator_optimizer", Adam({.learning_rate = 3e-4, .beta_1 = 0.5}));
  Metric generator_loss = track_metric(metrics::Mean({.name = "generator_loss"}));
  Metric discriminator_loss = track_metric(metrics::Mean({.name = "discriminator_loss"}));

  std::string class_name() const override { return "Gan"; }
  bool has_call() const override { return false; }

  void train_step(ReplicaStep& step, const Batch& batch) override {
    const double rows = static_cast<double>(step.global_rows());
    const Tensor latent = step.random_normal({step.rows(), kLatent});
    const auto loss_against = [&](double label, const Tensor& logits) {
      return ops::binary_crossentropy(ops::ones_like(logits) * label, logits, {.from_logits = true}).sum() /
             rows;
    };
    const auto train = [&](GradientTape& tape, const Tensor& loss, const Model& model,
                           const Optimizer& optimizer) {
      optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                                model.trainable_variables());
    };
    {
      GradientTape tape;
      const Tensor loss =
          loss_against(0.9, discriminator(batch.x[0])) + loss_against(0.0, discriminator(generator(latent)));
      train(tape, loss, discriminator, discriminator_optimizer);
      step.track_loss(discriminator_loss, loss);
    }
    GradientTape tape;
    const Tensor loss = loss_against(1.0, discriminator(generator(latent)));
    train(tape, loss, generator, generator_optimizer);
    step.track_loss(generator_loss, loss);
  }
};

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const auto number = [&](const char* name, int64_t otherwise) {
    return examples::number_argument(argc, argv, name, otherwise);
  };
  const std::string output = examples::text_argument(argc, argv, "--output", "generator.keras");
  set_random_seed(1);
  const auto [train, test] = datasets::fashion_mnist();
  const Tensor x = train.x[slice(number("--rows", 60000))].astype(DType::float32) / 255.0;

  const auto scope = strategy.scope();
  const Model gan = make_model<Gan>();
  gan.compile();
  gan.fit(x, {}, {.batch_size = 128, .epochs = static_cast<int>(number("--epochs", 10)), .verbose = 2});

  const Model generator(gan.get_layer("generator"));
  generator.save(output);
  const Model loaded = load_model(output, {.compile = false});
  const Tensor codes = ops::random_normal({16, kLatent});
  const Tensor images = loaded.predict(codes, {.verbose = 0});
  const Tensor difference = ops::abs(images - generator.predict(codes, {.verbose = 0})).max();
  std::printf("16 images %s, mean %.3f (real ones %.3f); the loaded model differs by %g\n",
              images.shape().to_string().c_str(), images.mean().item(), x.mean().item(), difference.item());
  return difference > 0.0 ? 1 : 0;
}
