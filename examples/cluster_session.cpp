// A cluster session: a LocalServer is created, and a program connects to it and fits, as it would to a
// cluster of many machines.
//
//   cluster_session examples/data/houses.csv
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

int main(int argc, char** argv) {
  examples::expect_paths(argc, argv, 1, "houses.csv");
  const Tensor table = load_csv(argv[1], {.skip_rows = 1});
  const Tensor x = table(ellipsis, slice(-1)), y = table(ellipsis, slice(-1, None));
  set_random_seed(1);

  const LocalServer server({.num_ps = 2, .num_workers = 2});
  std::printf("%s\n", server.cluster_spec().to_string().c_str());
  server.run([&](const SimpleClusterResolver& place) {  // the chief and each worker, in a thread of its own
    const Strategy strategy = connect(place);
    const auto scope = strategy.scope();
    const Normalization normalize;
    normalize.adapt(x);
    const Sequential model({Input({5}), normalize, Dense(32, {.activation = "relu"}), Dense(1)});
    model.compile({.optimizer = Adam(0.01), .loss = "mse"});
    const History history = model.fit(x, y, {.batch_size = 32, .epochs = 20, .verbose = 0});
    if (place.task_type() != "chief") return;
    std::printf("%sloss %.5f\n", strategy.describe().c_str(), history["loss"].back());
  });
}
