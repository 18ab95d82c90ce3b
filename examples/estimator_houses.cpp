// A program in the manner of tf.estimator: the model's state lies in a folder. Each run goes on where the
// last one was, killed or not, until the steps are done; checkpoints are evaluated on the way.
//
//   estimator_houses examples/data/houses.csv [--model-dir houses] [--steps 600] [--devices 1]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <chrono>
#include <cstdio>

using namespace nyala;

int main(int argc, char** argv) {
  examples::expect_paths(argc, argv, 1, "houses.csv");
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const auto steps = static_cast<int64_t>(examples::number_argument(argc, argv, "--steps", 600));
  const std::string model_dir = examples::text_argument(argc, argv, "--model-dir", "houses");
  set_random_seed(1);
  const Tensor table = load_csv(argv[1], {.skip_rows = 1});
  const Tensor x = table(ellipsis, slice(-1)), y = table(ellipsis, slice(-1, None));
  const int64_t held_out = x.shape()[0] / 5;
  const auto batches = [&](Index rows) {
    return Dataset::from_tensor_slices(x[rows], y[rows]).batch(32);
  };
  const auto train_data = [&] { return batches(slice(held_out, None)).repeat(); };
  const auto test_data = [&] { return batches(slice(held_out)); };

  const auto model_fn = [&] {
    const Normalization normalize;
    normalize.adapt(x);
    const Sequential model({Input({5}), normalize, Dense(16, {.activation = "relu"}), Dense(1)});
    model.compile({.optimizer = Adam(0.02), .loss = "mse", .metrics = {"mae"}});
    return Model(model);
  };
  Estimator estimator(model_fn,
                      {.model_dir = model_dir, .strategy = strategy, .save_checkpoints_steps = 200});

  const std::string before = estimator.latest_checkpoint();
  std::printf("%s\n", before.empty() ? "begins" : ("goes on from " + before).c_str());
  const Logs logs =
      train_and_evaluate(estimator, {.input_fn = train_data, .max_steps = steps},
                         {.input_fn = test_data, .steps = 0, .throttle = std::chrono::seconds(60)});
  std::printf("step %.0f: mae %.3f on houses that it has not seen\n", logs["global_step"], logs["mae"]);
}
