// One of the processes of a training with parameter servers, for tests of `nyala launch --ps`:
// parameter_worker <what> [epochs]. Chief and workers say the loss, a sum of the weights and (the chief) the
// updates in the end. What: "turns" (no gradient is stale), "free", "together" (synchronously), "one_device";
// "kill worker 0", "kill ps 0", "kill chief 0" (the callback of the chief that was started first does it in
// the seventh batch), free or behind "together, ", "term" likewise; "backup, " in front: in the 27th, and
// BackupAndRestore; "last, " in front: in the last; "throw" (the model of worker 0 throws in its third step);
// "other" (worker 0 has another optimizer). "twice, together": the model's own train_step applies gradients
// twice; "loop, together": in place of fit() a loop of the program's own; with ", dies" behind worker 0 kills
// itself in the seventh step, in the first between the two. Each process leaves its number in a file.
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

/// In its seventh call, of the process that was started first.
void die_if(bool dies) {
  static int calls = 0;
  const char* const starts = std::getenv("NYALA_RESTART_COUNT");
  if (dies && ++calls == 7 && starts && std::string(starts) == "0") ::raise(SIGKILL);
}

/// A model whose two layers learn one after the other, the second from what the first has become.
struct Twice : ModelNode {
  Dense first = track("first", Dense(8, {.activation = "tanh"}));
  Dense last = track("last", Dense(1));
  Optimizer of_last = track_optimizer("of_last", SGD({.learning_rate = 0.05, .momentum = 0.5}));
  bool dies;
  explicit Twice(bool dies_in_a_step) : dies(dies_in_a_step) {}

  std::string class_name() const override { return "Twice"; }
  Tensor call(Call& c, const Tensor& x) const override { return last(c, first(c, x)); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    const auto learn = [&](const Dense& layer, const Optimizer& optimizer) {
      GradientTape tape;
      const Tensor loss = step.compute_loss(batch, {step.forward(batch.x[0])});
      optimizer.apply_gradients(tape.gradient(loss, layer.trainable_variables()),
                                layer.trainable_variables());
      return loss;
    };
    learn(first, step.optimizer());
    die_if(dies);
    step.track_loss(learn(last, of_last));
  }
};

void say(double loss, const Model& model, const Optimizer& optimizer, bool says_updates) {
  double weights = 0;
  for (const Tensor& weight : model.get_weights()) weights += ops::sum(ops::abs(weight)).item();
  std::printf("loss %.6f, weights %.6f%s\n", loss, weights,
              says_updates ? (", updates " + std::to_string(optimizer.iterations())).c_str() : "");
}

int loop(bool dies, int epochs, const Strategy& strategy, const Tensor& x, const Tensor& y,
         bool says_updates) {
  const auto scope = strategy.scope();
  const Sequential model = network(false, false);
  const Optimizer optimizer = Adam(0.01);
  const metrics::Mean loss_of_epoch;
  int64_t step = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    loss_of_epoch.reset_state();
    for (const DistributedBatch& batch :
         strategy.distribute(Dataset::from_tensor_slices(x, y).shuffle(240).batch(12))) {
      const auto learn = [&](const Batch& part) {
        GradientTape tape;
        TrainingPass pass(batch, step);
        const Tensor losses = ops::square(pass(model, part.x[0]) - part.y[0]);
        const Tensor loss = losses.sum() / static_cast<double>(batch.rows);
        die_if(dies);
        optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                                  model.trainable_variables());
        pass.finish();
        loss_of_epoch.update_state(losses);
      };
      strategy.run(learn, batch);
      ++step;
    }
  }
  say(loss_of_epoch.result(), model, optimizer, says_updates);
  return 0;
}

int train(const std::string& what, int epochs, const Strategy& strategy, bool says_updates) {
  const bool is_first_worker = what.find("one_device") == what.npos && task() == "worker 0";
  const bool dies = is_first_worker && what.ends_with(", dies");
  const Tensor x = ops::sin(ops::reshape(ops::arange(960.0), {240, 4})), y = ops::sum(x, {1}, true);
  if (what.starts_with("loop, ")) return loop(dies, epochs, strategy, x, y, says_updates);
  const auto scope = strategy.scope();
  const Model model =
      what.starts_with("twice, ")
          ? make_model<Twice>(dies)
          : Model(network(what == "throw" && is_first_worker, what == "throw" && !is_first_worker));
  model.compile({.optimizer = what == "other" && is_first_worker ? Optimizer(SGD()) : Optimizer(Adam(0.01)),
                 .loss = "mse"});
  std::vector<CallbackArgument> callbacks;
  const int batch = what.starts_with("backup, ") ? 27 : what.starts_with("last, ") ? 20 * epochs : 7;
  for (const auto& [word, signal] : {std::pair("kill ", SIGKILL), std::pair("term ", SIGTERM)})
    if (const size_t kill = what.find(word); kill != what.npos)
      callbacks.emplace_back(Killer(signal, what.substr(kill + 5), batch, strategy));
  if (what.starts_with("backup, ")) callbacks.emplace_back(BackupAndRestore({.backup_dir = "backup"}));
  const History history =
      model.fit(x, y, {.batch_size = 12, .epochs = epochs, .verbose = 0, .callbacks = callbacks});
  say(history["loss"].back(), model, model.optimizer(), says_updates);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = arguments[1];
  const int epochs = count > 2 ? std::atoi(arguments[2]) : 4;
  try {
    set_random_seed(3);
    if (what.ends_with("one_device")) return train(what, epochs, OneDeviceStrategy("cpu:0"), true);
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
