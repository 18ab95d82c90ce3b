#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <nyala/nyala.h>

namespace nyala {

/// What chief and workers of the tests of lost processes have in common. Files in their folder say what a
/// function does: while `endless` is there a training step does not end, while `slow-data` is there making
/// data does not. Each step that begins leaves a file `begun-...`, all data that is made one `data-...`, each
/// process that is ready `came-...`, all with its number.
class FaultProgram {
 public:
  FaultProgram(const ParameterServerStrategy& strategy, std::string folder)
      : net(strategy.scope([] {
          return Sequential(
              {Input({4}), Dense(8, {.activation = "tanh", .name = "hidden"}), Dense(1, {.name = "out"})},
              {.name = "net"});
        })),
        coordinator(strategy),
        folder_(std::move(folder)) {
    optimizer.build(net.trainable_variables());
    leave("came");
  }

  const Sequential net;
  const Optimizer optimizer = Adam(0.01);
  const ClusterCoordinator coordinator;

  const PerWorkerIterator data = coordinator.create_per_worker_iterator(small_data());
  const PerWorkerIterator data_of_function =
      coordinator.create_per_worker_iterator([this](const InputContext&) {
        leave("data");
        wait_while("slow-data");
        return small_data();
      });

  const WorkerFunction<double(int)> train = coordinator.function("train", [this](int step) {
    leave("begun");
    wait_while("endless");
    return update(ops::sin(ops::arange(48.0).with_shape({12, 4}) + static_cast<double>(step)));
  });
  const WorkerFunction<double(PerWorkerIterator)> train_on =
      coordinator.function("train_on", [this](const PerWorkerIterator& own) {
        Batch batch;
        own->next(batch);
        return update(batch.x[0]);
      });
  const WorkerFunction<double()> normal = coordinator.function("normal", [] { return 1.5; });
  const WorkerFunction<double()> fail =
      coordinator.function("fail", []() -> double { throw InvalidArgumentError("the function that fails"); });
  /// The last bias plus and minus one.
  const WorkerFunction<std::pair<Tensor, Tensor>()> around = coordinator.function("around", [this] {
    const Tensor bias = net.trainable_variables().back().value();
    return std::pair<Tensor, Tensor>(bias + 1.0, bias - 1.0);
  });

 private:
  static Dataset small_data() { return Dataset::from_tensor_slices(ops::ones({8, 4})).batch(4).repeat(); }
  double update(const Tensor& x) const {
    GradientTape tape;
    const Tensor loss = ops::mean(ops::square(net(x) - ops::sum(x, {1}, true)));
    const Variables weights = net.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    return static_cast<double>(loss.item());
  }
  void leave(const std::string& what) const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    std::ofstream(folder_ + "/" + what + "-" + std::to_string(::getpid()) + "-" + std::to_string(now));
  }
  void wait_while(const std::string& file) const {
    while (std::filesystem::exists(folder_ + "/" + file))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const std::string folder_;
};

}  // namespace nyala
