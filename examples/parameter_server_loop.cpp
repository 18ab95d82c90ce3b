// A training loop of one's own on parameter servers: the chief schedules steps, workers carry them out with
// their own iterators, servers apply the gradients. Trains a LeNet on Fashion-MNIST.
//
//   nyala launch --ps 2 --workers 2 --chief -- ./parameter_server_loop [steps per epoch [epochs]]
#include <nyala/nyala.h>

#include <cstdio>
#include <cstdlib>

using namespace nyala;

Sequential make_lenet() {
  return Sequential({Input({28, 28, 1}), Rescaling(1 / 255.0), Conv2D(20, 3, {.activation = "relu"}),
                     AveragePooling2D(2), Conv2D(50, 5, {.activation = "relu"}), AveragePooling2D(2),
                     Flatten(), Dense(128, {.activation = "relu"}), Dense(10)});
}

double accuracy_of(const Sequential& net, const Arrays& data) {
  SparseCategoricalAccuracy accuracy;
  accuracy.update_state(data.y, net.predict(data.x, {.batch_size = 512, .verbose = 0}));
  return accuracy.result();
}

int main(int argc, char** argv) {
  if (is_parameter_server()) return serve_parameters();
  const int steps = argc > 1 ? std::atoi(argv[1]) : 235, epochs = argc > 2 ? std::atoi(argv[2]) : 3;

  // The same in all processes: the model, the optimizer, the data, the functions.
  const ParameterServerStrategy strategy;
  const auto [train, test] = datasets::fashion_mnist();
  const Sequential net = strategy.scope(make_lenet);
  const Optimizer optimizer = Adam({.learning_rate = 2e-3});
  optimizer.build(net.trainable_variables());

  const ClusterCoordinator coordinator(strategy);
  const PerWorkerIterator batches = coordinator.create_per_worker_iterator(
      Dataset::from_tensor_slices(train).shuffle(60000).batch(256, {.drop_remainder = true}).repeat());
  const auto step = coordinator.function("step", [&](const PerWorkerIterator& own_batches) {
    Batch batch;
    own_batches->next(batch);
    GradientTape tape;
    const Tensor losses =
        ops::sparse_categorical_crossentropy(batch.y[0], net(batch.x[0]), {.from_logits = true});
    const Tensor loss = ops::mean(losses);
    const Variables weights = net.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    return static_cast<double>(loss.item());
  });
  if (coordinator.serve()) return 0;  // a worker carries functions out until the chief has ended

  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::vector<RemoteValue<double>> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(coordinator.schedule(step, batches));
    coordinator.join();  // the model here has the servers' values now
    double loss = 0;
    for (const double each : coordinator.fetch(losses)) loss += each / steps;
    std::printf("epoch %d: loss %.4f, test accuracy %.4f\n", epoch + 1, loss, accuracy_of(net, test));
  }
  std::printf("%s", strategy.describe().c_str());
  net.save_weights("lenet.weights.h5");
}
