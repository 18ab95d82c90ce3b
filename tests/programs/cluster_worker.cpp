// One of several processes that train, for tests of `nyala launch`: cluster_worker <what>. It says the loss
// and a sum of the weights in the end. What: "train"; "throw" (the callback of rank 1 throws in the third
// step); "kill", "freeze", "exit" (rank 1 kills, stops or ends itself there, on its first start); "late"
// (rank 1 kills itself after training, when the others have ended); "evaluate" (rank 1 kills itself in an
// evaluation behind training, and the loss is that one's); "gloo" (train, by TCP).
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

struct Misbehave : Callback {
  Misbehave(std::string what, int rank) : what_(std::move(what)), rank_(rank) {}
  void on_train_batch_end(int64_t, Logs&) override {
    if (what_ != "evaluate") misbehave();
  }
  void on_test_batch_end(int64_t, Logs&) override { misbehave(); }

 private:
  void misbehave() {
    const char* const restart = std::getenv("NYALA_RESTART_COUNT");
    const bool is_first = !restart || std::string(restart) == "0";
    if (rank_ != 1 || ++steps_ != 3 || !is_first) return;
    if (what_ == "throw") throw std::runtime_error("the callback has no disk");
    if (what_ == "kill" || what_ == "evaluate") ::kill(::getpid(), SIGKILL);
    if (what_ == "freeze") ::kill(::getpid(), SIGSTOP);
    if (what_ == "exit") std::exit(0);
  }

  std::string what_;
  int rank_, steps_ = 0;
};

MultiWorkerMirroredStrategy strategy_for(const std::string& what) {
  CommunicationOptions options{.timeout = std::chrono::seconds(60)};
  if (what == "gloo") options.implementation = CommunicationImplementation::gloo;
  return MultiWorkerMirroredStrategy({.communication_options = options});
}

}  // namespace

int main(int, char** arguments) {
  const std::string what = arguments[1];
  try {
    set_random_seed(3);
    const MultiWorkerMirroredStrategy strategy = strategy_for(what);
    const int rank = strategy.rank();
    const auto scope = strategy.scope();
    const Sequential model({Input({4}), Dense(8, {.activation = "tanh"}), BatchNormalization(), Dense(1)});
    model.compile({.optimizer = Adam(0.01), .loss = "mse"});
    const Tensor x = ops::sin(ops::reshape(ops::arange(240.0), {60, 4})), y = ops::sum(x, {1}, true);
    const std::vector<CallbackArgument> callbacks = {Misbehave(what, rank)};
    const History history =
        model.fit(x, y, {.batch_size = 12, .epochs = 4, .verbose = 0, .callbacks = callbacks});
    const double loss =
        what == "evaluate"
            ? model.evaluate(x, y, {.batch_size = 12, .verbose = 0, .callbacks = callbacks})["loss"]
            : history["loss"].back();
    double weights = 0;
    for (const Tensor& weight : model.get_weights()) weights += ops::sum(ops::abs(weight)).item();
    std::printf("rank %d of %d: loss %.6f, weights %.6f\n", strategy.rank(), strategy.num_processes(), loss,
                weights);
    if (what == "late" && rank == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      ::kill(::getpid(), SIGKILL);
    }
  } catch (const PeerLostError& error) {
    std::fprintf(stderr, "lost: %s\n", error.what());
    return 3;
  } catch (const CommunicationError& error) {
    std::fprintf(stderr, "communication: %s\n", error.what());
    return 4;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 5;
  }
}
