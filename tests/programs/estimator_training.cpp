// Trains an Estimator in <folder> to step <max_steps>, slowly, so that a test can kill it in the middle.
#include <chrono>
#include <cstdlib>
#include <thread>

#include <nyala/nyala.h>

int main(int count, char** arguments) {
  using namespace nyala;
  if (count != 3) return 2;
  set_default_verbosity(0);
  const auto make_model = [] {
    set_random_seed(5);
    const Model model = Sequential({Input({3}), Dense(4, {.activation = "tanh"}), Dropout(0.25), Dense(1)});
    model.compile({.optimizer = Adam(0.01), .loss = "mse"});
    return model;
  };
  const auto data = [] {
    return Dataset::from_tensor_slices(Tensor::arange(12).reshape({4, 3}), Tensor::arange(4))
        .batch(4)
        .repeat();
  };
  Estimator estimator(make_model, {.model_dir = arguments[1], .save_checkpoints_steps = 3});
  LambdaCallback slow({.on_train_batch_end = [](int64_t, Logs&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }});
  estimator.train(data, {.max_steps = std::atoll(arguments[2]), .callbacks = {slow}});
  return 0;
}
