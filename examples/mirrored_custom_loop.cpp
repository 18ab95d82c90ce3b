// A training loop of one's own under a strategy: a distributed dataset, Strategy::run, GradientTape, reduce
// and metrics that replicas share. Trains a LeNet on Fashion-MNIST on two devices, saves a checkpoint,
// restores it on three and goes on there.
//
//   mirrored_custom_loop [epochs [training images [test images]]]
#include <nyala/nyala.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace nyala;

constexpr int64_t kBatch = 256;

Sequential make_lenet() {
  Sequential net({Input({28, 28, 1}), Rescaling(1 / 255.0), Conv2D(20, 3, {.activation = "relu"}),
                  AveragePooling2D(2), Conv2D(50, 5, {.activation = "relu"}), AveragePooling2D(2), Flatten(),
                  Dense(128, {.activation = "relu"}), Dense(10)});
  net.compile({.optimizer = Adam({.learning_rate = 2e-3}),
               .loss = SparseCategoricalCrossentropy({.from_logits = true}),
               .metrics = {"accuracy"}});
  return net;
}

// What fit does, by hand. The metric belongs to nobody: replicas add what they see, the loop reads the sum.
struct Loop {
  Strategy strategy;
  Sequential net;
  Optimizer optimizer = net.optimizer();
  metrics::SparseCategoricalAccuracy accuracy = metrics::SparseCategoricalAccuracy({.name = "accuracy"});

  // One replica's rows. Their losses are divided by the rows of the whole batch, so that the gradients of all
  // replicas, added up, are those of one device; apply_gradients adds them up.
  Tensor train_step(const Batch& part, int64_t rows_of_all) const {
    GradientTape tape;
    const Tensor logits = net(part.x[0]);
    const Tensor losses = ops::sparse_categorical_crossentropy(part.y[0], logits, {.from_logits = true});
    const Tensor loss = ops::sum(losses) / static_cast<double>(rows_of_all);
    const Variables weights = net.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    accuracy.update_state(part.y[0], logits);
    return loss.detached();
  }

  void train_epoch(int epoch, const Arrays& data) const {
    const auto begin = std::chrono::steady_clock::now();
    const Dataset batches = Dataset::from_tensor_slices(data)
                                .shuffle(60000, {.seed = static_cast<uint64_t>(epoch)})
                                .batch(kBatch);
    double loss = 0;
    int64_t rows = 0;
    for (const DistributedBatch& batch : strategy.distribute(batches)) {
      const PerReplica<> parts =
          strategy.run([&](const Batch& part) { return train_step(part, batch.rows); }, batch);
      loss += strategy.reduce(ReduceOp::sum, parts).item() * static_cast<double>(batch.rows);
      rows += batch.rows;
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::printf("epoch %d on %d devices: loss %.4f, accuracy %.4f, %.1f s\n", epoch,
                strategy.num_replicas_in_sync(), loss / static_cast<double>(rows), accuracy.result(),
                time.count());
    accuracy.reset_state();
  }

  double test(const Arrays& data) const {
    for (const DistributedBatch& batch : strategy.distribute(Dataset::from_tensor_slices(data).batch(kBatch)))
      strategy.run([&](const Batch& part) { accuracy.update_state(part.y[0], net(part.x[0])); }, batch);
    const double result = accuracy.result();
    accuracy.reset_state();
    return result;
  }
};

Loop make_loop(const std::vector<std::string>& devices) {
  const MirroredStrategy strategy({.devices = devices});
  std::printf("%s\n", strategy.describe().c_str());
  return {strategy, strategy.scope(make_lenet)};
}

Arrays first_rows(const Arrays& data, int64_t rows) {
  const int64_t count = std::min(rows, data.x.shape()[0]);
  return {data.x.rows(0, count), data.y.rows(0, count)};
}

int main(int argc, char** argv) {
  const int epochs = argc > 1 ? std::atoi(argv[1]) : 2;
  set_random_seed(1);
  configure_logical_devices("cpu", 3);
  const auto [all_train, all_test] = datasets::fashion_mnist();
  const Arrays train = first_rows(all_train, argc > 2 ? std::atoll(argv[2]) : 60000),
               test = first_rows(all_test, argc > 3 ? std::atoll(argv[3]) : 10000);

  const Loop two = make_loop({"cpu:0", "cpu:1"});
  for (int epoch = 1; epoch <= epochs; ++epoch) two.train_epoch(epoch, train);
  const double accuracy_of_two = two.test(test);

  // The file holds the logical model: no replica and no device stands in it.
  const std::string path =
      (std::filesystem::temp_directory_path() / "mirrored_custom_loop.weights.h5").string();
  Checkpoint(two.net).save(path, {.epoch = epochs});
  const Loop three = make_loop({"cpu:0", "cpu:1", "cpu:2"});
  const TrainingPosition position = Checkpoint(three.net).restore(path);
  std::filesystem::remove(path);
  const double accuracy_of_three = three.test(test);
  std::printf("test accuracy on two devices %.4f, restored on three %.4f\n", accuracy_of_two,
              accuracy_of_three);

  // The next epoch is the same on both: the optimizer's state came along.
  two.train_epoch(position.epoch + 1, train);
  three.train_epoch(position.epoch + 1, train);
  const double gap = std::abs(two.test(test) - three.test(test));
  std::printf("test accuracy after one more epoch differs by %.4f\n", gap);
  return accuracy_of_two == accuracy_of_three && gap <= 0.01 ? 0 : 1;
}
