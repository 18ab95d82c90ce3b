// The prices of houses, learned by several processes that run this program, with the numbers of one.
//
//   nyala launch -n 2 -- several_processes examples/data/houses.csv "$(mktemp -d)"
#include <nyala/examples/support/strategy_argument.h>
#include <nyala/nyala.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace nyala;

int number_of(const char* variable, int without) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : without;
}

int main(int argc, char** argv) {
  examples::expect_paths(argc, argv, 2, "houses.csv EMPTY_FOLDER");
  const Tensor table = load_csv(argv[1], {.skip_rows = 1});
  const Tensor x = table(ellipsis, slice(-1)), y = table(ellipsis, slice(-1, None));

  set_random_seed(1);
  FileRendezvous rendezvous(argv[2]);  // where the processes find each other
  const MultiWorkerMirroredStrategy strategy(
      processes_on_one_host({.rank = number_of("NYALA_RANK", 0),
                             .size = number_of("NYALA_WORLD_SIZE", 1),
                             .timeout = std::chrono::seconds(60)},
                            rendezvous));
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
