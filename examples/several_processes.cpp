// The prices of houses, learned by several processes that run this program, with the numbers of one.
//
//   nyala launch -n 2 -- several_processes examples/data/houses.csv
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

int main(int argc, char** argv) {
  examples::expect_paths(argc, argv, 1, "houses.csv");
  const Tensor table = load_csv(argv[1], {.skip_rows = 1});
  const Tensor x = table(ellipsis, slice(-1)), y = table(ellipsis, slice(-1, None));

  set_random_seed(1);
  const MultiWorkerMirroredStrategy strategy;  // finds the other processes; there may be none
  const auto scope = strategy.scope();
  const Normalization normalize;
  normalize.adapt(x);
  const Sequential model({Input({5}), normalize, Dense(32, {.activation = "relu"}), Dense(1)});
  model.compile({.optimizer = Adam(0.01), .loss = "mse"});
  try {
    const History history = model.fit(x, y, {.batch_size = 32, .epochs = 20, .verbose = 0});
    std::printf("rank %d of %d: loss %.5f\n", strategy.rank(), strategy.num_processes(),
                history["loss"].back());
  } catch (const CommunicationError& error) {  // PeerLostError, TimeoutError: another process
    std::fprintf(stderr, "rank %d: %s\n", strategy.rank(), error.what());
    return 3;
  }
}
