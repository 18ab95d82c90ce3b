// Which width of a network generalizes best? Five-fold cross-validation: five models are trained for each
// width, each tested on the fifth of the rows that it has not seen. A last one, with the best width, is
// trained on all rows and saved.
//
//   k_fold examples/data/houses.csv [--epochs 60] [--devices 1] [--output best.keras]
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

using namespace nyala;

constexpr int64_t kFolds = 5;

Model make_model(int64_t width, const Tensor& x) {
  const Normalization normalize;
  normalize.adapt(x);
  const Sequential model({Input({5}), normalize, Dense(width, {.activation = "relu"}), Dense(1)});
  model.compile({.optimizer = Adam(0.02), .loss = "mse", .metrics = {"mae"}});
  return model;
}

int main(int argc, char** argv) {
  examples::expect_paths(argc, argv, 1, "houses.csv");
  const Strategy strategy = examples::strategy_argument(argc, argv);
  const int epochs = static_cast<int>(examples::number_argument(argc, argv, "--epochs", 60));
  const std::string output = examples::text_argument(argc, argv, "--output", "best.keras");
  set_random_seed(1);
  const Tensor table = load_csv(argv[1], {.skip_rows = 1});
  const Tensor x = table(ellipsis, slice(-1)), y = table(ellipsis, slice(-1, None));

  std::vector<int64_t> order(static_cast<size_t>(x.shape()[0]));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));

  const auto scope = strategy.scope();
  int64_t best_width = 0;
  double best = INFINITY;
  for (const int64_t width : {2, 8, 32}) {
    std::vector<double> errors;
    for (int64_t fold = 0; fold < kFolds; ++fold) {
      std::vector<int64_t> train, test;
      for (size_t i = 0; i < order.size(); ++i)
        (static_cast<int64_t>(i) % kFolds == fold ? test : train).push_back(order[i]);
      const auto rows = [](const Tensor& all, const std::vector<int64_t>& of) {
        return ops::take(all, Tensor::from(of), 0);
      };
      const Model model = make_model(width, rows(x, train));
      model.fit(rows(x, train), rows(y, train), {.epochs = epochs, .verbose = 0});
      errors.push_back(model.evaluate(rows(x, test), rows(y, test), {.verbose = 0})["mae"]);
    }
    const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / kFolds;
    std::printf("%2lld units: mae %.2f (%.2f to %.2f)\n", static_cast<long long>(width), mean,
                *std::min_element(errors.begin(), errors.end()),
                *std::max_element(errors.begin(), errors.end()));
    if (mean < best) {
      best = mean;
      best_width = width;
    }
  }

  const Model final_model = make_model(best_width, x);
  final_model.fit(x, y, {.epochs = epochs, .verbose = 0});
  final_model.save(output);
  const double mae = load_model(output).evaluate(x, y, {.verbose = 0})["mae"];
  std::printf("the best has %lld units; trained on all rows and loaded again: mae %.2f\n",
              static_cast<long long>(best_width), mae);
}
