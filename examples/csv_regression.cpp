// The price of houses from a table: features are normalized, training stops when it no longer gets better,
// and the model comes back from its file.
//
//   csv_regression examples/data/houses.csv [--epochs 200] [--devices 1] [--output houses.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

int main(int argc, char** argv) {
  examples::expect_paths(argc, argv, 1, "houses.csv");
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 200));
  const std::string output = examples::text_argument(argc, argv, "--output", "houses.keras");
  set_random_seed(1);

  const Tensor table = load_csv(argv[1], {.skip_rows = 1});
  const Tensor x = table(ellipsis, slice(-1)), y = table(ellipsis, slice(-1, None));
  const Tensor x_train = x[slice(500)], y_train = y[slice(500)];
  const Tensor x_test = x[slice(500, None)], y_test = y[slice(500, None)];

  const auto scope = strategy.scope();
  const Normalization normalize;
  normalize.adapt(x_train);
  const Sequential model({Input({5}), normalize, Dense(32, {.activation = "relu"}),
                          Dense(32, {.activation = "relu"}), Dense(1)});
  model.compile({.optimizer = Adam(0.01), .loss = "mse", .metrics = {"mae"}});
  const History history = model.fit(
      x_train, y_train,
      {.batch_size = 32,
       .epochs = epochs,
       .verbose = 0,
       .callbacks = {EarlyStopping({.monitor = "val_loss", .patience = 20, .restore_best_weights = true})},
       .validation_split = 0.2});
  const Logs logs = model.evaluate(x_test, y_test, {.verbose = 0});
  std::printf("%zu epochs, test mae %.2f\n", history["loss"].size(), logs["mae"]);

  model.save(output);
  const Model loaded = load_model(output);
  const Tensor prices = loaded.predict(x_test[slice(3)], {.verbose = 0});
  for (int64_t i = 0; i < 3; ++i)
    std::printf("predicted %.1f, true %.1f\n", prices[i].item(), y_test[i].item());
  return loaded.evaluate(x_test, y_test, {.verbose = 0})["mae"] == logs["mae"] ? 0 : 1;
}
