// One of the processes of a training with parameter servers, for tests of `nyala launch --ps`:
// parameter_worker <what> [epochs]. Chief and workers say the loss, a sum of the weights and (the chief) the
// updates in the end. What: "turns" (no gradient is stale), "free", "together" (synchronously), "one_device";
// "kill worker 0", "kill ps 0", "kill chief 0" (the callback of the chief that was started first does it in
// the seventh batch), free or behind "together, ", "term" likewise; "backup, " in front: in the 27th, and
// BackupAndRestore; "throw" (the model of worker 0 throws in its third step); "other" (worker 0 has another
// optimizer). Each process leaves its number in a file.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

/// When both workers take part.
struct Killer : Callback {
  Killer(int signal, std::string whom, int batch, const Strategy& strategy)
      : signal_(signal), whom_(std::move(whom)), batch_(batch), strategy_(strategy) {}
  void on_train_batch_end(int64_t, Logs&) override {
    if (++steps_ != batch_ || std::string(std::getenv("NYALA_RESTART_COUNT")) != "0") return;
    for (int look = 0; look < 2000 && strategy_.describe().find("2 workers") == std::string::npos; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    int pid = 0;
    if (std::ifstream(whom_ + ".pid") >> pid) ::kill(pid, signal_);
    for (int look = 0; look < 1000 && pid > 0 && ::kill(pid, 0) == 0; ++look)  // the training may be short
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

 private:
  int signal_;
  std::string whom_;
  int batch_;
  Strategy strategy_;
  int steps_ = 0;
};

/// The task of this process: "worker 0".
std::string task() {
  const auto resolver = choose_cluster_resolver().resolver;
  return resolver->task_type() + " " + std::to_string(resolver->task_id());
}

/// Who waits leaves batches to the others.
Sequential network(bool throws, bool waits) {
  Sequential net({Input({4}), Dense(8, {.activation = "tanh"}), BatchNormalization(), Dropout(0.2)});
  net.add(Lambda([throws, waits, steps = 0](const Tensor& x) mutable {
    if (waits && !x.is_abstract()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (throws && !x.is_abstract() && ++steps == 3) throw std::runtime_error("the layer has no disk");
    return x;
  }));
  net.add(Dense(1));
  return net;
}

int train(const std::string& what, int epochs, const Strategy& strategy, bool says_updates) {
  const bool is_first_worker = what != "one_device" && task() == "worker 0";
  const auto scope = strategy.scope();
  const Sequential model = network(what == "throw" && is_first_worker, what == "throw" && !is_first_worker);
  model.compile({.optimizer = what == "other" && is_first_worker ? Optimizer(SGD()) : Optimizer(Adam(0.01)),
                 .loss = "mse"});
  const Tensor x = ops::sin(ops::reshape(ops::arange(960.0), {240, 4})), y = ops::sum(x, {1}, true);
  std::vector<CallbackArgument> callbacks;
  for (const auto& [word, signal] : {std::pair("kill ", SIGKILL), std::pair("term ", SIGTERM)})
    if (const size_t kill = what.find(word); kill != what.npos)
      callbacks.emplace_back(
          Killer(signal, what.substr(kill + 5), what.starts_with("backup, ") ? 27 : 7, strategy));
  if (what.starts_with("backup, ")) callbacks.emplace_back(BackupAndRestore({.backup_dir = "backup"}));
  const History history =
      model.fit(x, y, {.batch_size = 12, .epochs = epochs, .verbose = 0, .callbacks = callbacks});
  double weights = 0;
  for (const Tensor& weight : model.get_weights()) weights += ops::sum(ops::abs(weight)).item();
  std::printf("loss %.6f, weights %.6f%s\n", history["loss"].back(), weights,
              says_updates ? (", updates " + std::to_string(model.optimizer().iterations())).c_str() : "");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = arguments[1];
  const int epochs = count > 2 ? std::atoi(arguments[2]) : 4;
  try {
    set_random_seed(3);
    if (what == "one_device") return train(what, epochs, OneDeviceStrategy("cpu:0"), true);
    std::ofstream(task() + ".pid") << ::getpid() << std::endl;
    if (is_parameter_server()) return serve_parameters();
    const ParameterServerStrategy strategy({.timeout = std::chrono::seconds(30),
                                            .staleness = what == "turns" ? 0 : -1,
                                            .synchronous = what.find("together") != what.npos,
                                            .snapshot_interval = std::chrono::milliseconds(1)});
    return train(what, epochs, strategy, strategy.is_chief());
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
