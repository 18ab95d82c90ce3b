// A training loop of one's own: a tape, a pass that knows training (Dropout, BatchNormalization), gradients
// that are looked at before they are applied, metrics. Every line of it runs on every device of a strategy.
//
//   own_training_loop [--rows 12800] [--epochs 2] [--devices 1] [--output loop.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

int main(int argc, char** argv) {
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const int64_t rows = examples::number_argument(argc, argv, "--rows", 12800);
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 2));
  const std::string output = examples::text_argument(argc, argv, "--output", "loop.keras");
  set_random_seed(1);
  const auto [train, test] = datasets::fashion_mnist();
  const Dataset batches = Dataset::from_tensor_slices(train).take(rows).shuffle(rows).batch(128);
  const Dataset test_batches = Dataset::from_tensor_slices(test).take(rows / 5).batch(128);

  const auto scope = strategy.scope();
  const Sequential net({Input({28, 28, 1}), Rescaling(1 / 255.0), Conv2D(16, 3), BatchNormalization(), ReLU(),
                        MaxPooling2D(2), Flatten(), Dropout(0.3),
                        Dense(10, {.kernel_regularizer = L2(1e-4)})});
  const Adam optimizer({.learning_rate = CosineDecay(3e-3, epochs * ((rows + 127) / 128))});
  const metrics::Mean loss_of_epoch;
  const metrics::SparseCategoricalAccuracy accuracy;

  int64_t step = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    for (const DistributedBatch& batch : strategy.distribute(batches)) {
      const auto train_step = [&](const Batch& part) {
        GradientTape tape;
        TrainingPass pass(batch, step);
        const Tensor logits = pass(net, part.x[0]);
        const Tensor losses = ops::sparse_categorical_crossentropy(part.y[0], logits, {.from_logits = true});
        const Tensor loss = losses.sum() / static_cast<double>(batch.rows) + pass.losses(net);
        const Tensors gradients = tape.gradient(loss, net.trainable_variables());
        optimizer.apply_gradients(gradients, net.trainable_variables());
        pass.finish();
        loss_of_epoch.update_state(losses);
        accuracy.update_state(part.y[0], logits);
      };
      strategy.run(train_step, batch);
      ++step;
    }
    const double train_accuracy = accuracy.result();
    accuracy.reset_state();
    for (const DistributedBatch& batch : strategy.distribute(test_batches))
      strategy.run([&](const Batch& part) { accuracy.update_state(part.y[0], net(part.x[0])); }, batch);
    std::printf("epoch %d: loss %.4f, accuracy %.4f, test accuracy %.4f\n", epoch, loss_of_epoch.result(),
                train_accuracy, accuracy.result());
    loss_of_epoch.reset_state();
    accuracy.reset_state();
  }

  net.save(output);
  const Model loaded = load_model(output);
  const Tensor images = test.x[slice(100)];
  const Tensor difference =
      ops::abs(net.predict(images, {.verbose = 0}) - loaded.predict(images, {.verbose = 0})).max();
  std::printf("the loaded model differs by %g\n", difference.item());
  return difference > 0.0 ? 1 : 0;
}
