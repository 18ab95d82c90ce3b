// One of the processes of a cluster whose workers carry functions out, for tests of `nyala launch --ps`:
// function_worker mean [kills]: the mean of range(1024) in 128 shards, until workers have been killed so
// often, in turns; function_worker train [task]: a loop of its own of 60 steps, in the middle of which the
// chief kills that task ("worker 0", "ps 1"); function_worker throw: a function throws. The chief says what
// it came to. Each process leaves its number in a file.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

constexpr int kShards = 128, kSteps = 60;

void wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// The task of this process: "worker 0".
std::string task() {
  const auto resolver = choose_cluster_resolver().resolver;
  return resolver->task_type() + " " + std::to_string(resolver->task_id());
}

bool kill_task(const std::string& name) {
  int pid = 0;
  return (std::ifstream(name + ".pid") >> pid) && ::kill(pid, SIGKILL) == 0;
}

/// Whoever is killed has come again before it is killed once more.
void kill_workers(int kills, std::atomic<int>& killed) {
  while (killed < kills) {
    const std::string name = "worker " + std::to_string(killed % 2);
    const bool was_there = kill_task(name);
    if (was_there) std::remove((name + ".pid").c_str());
    if (was_there) ++killed;
    wait(50);
  }
}

int say_means(const ClusterCoordinator& coordinator, const WorkerFunction<Tensor(int)>& sum_of, int kills) {
  std::atomic<int> killed = 0;
  std::thread killer([&] { kill_workers(kills, killed); });
  int passes = 0, right = 0;
  do {
    std::vector<RemoteValue<Tensor>> sums;
    for (int shard = 0; shard < kShards; ++shard) sums.push_back(coordinator.schedule(sum_of, shard));
    coordinator.join();
    double sum = 0;
    for (const Tensor& each : coordinator.fetch(sums)) sum += each.item();
    right += sum / 1024 == 511.5 ? 1 : 0;
    ++passes;
  } while (killed < kills);
  killer.join();
  std::printf("%d of %d means are 511.5, %d killed\n", right, passes, killed.load());
  return right == passes ? 0 : 1;
}

int serve_or_lead(const std::string& what, const std::string& argument) {
  const ParameterServerStrategy strategy(
      {.timeout = std::chrono::seconds(30), .snapshot_interval = std::chrono::milliseconds(1)});
  const auto scope = strategy.scope();
  const Sequential net({Input({4}), Dense(8, {.activation = "tanh"}), Dense(1)});
  const Optimizer optimizer = Adam(0.01);
  optimizer.build(net.trainable_variables());

  const ClusterCoordinator coordinator(strategy);
  const auto sum_of = coordinator.function("sum_of", [](int shard) {
    wait(5);
    return ops::sum(ops::arange(8.0 * shard, 8.0 * shard + 8));
  });
  const auto train = coordinator.function("train", [&](int step) {
    const Tensor x = ops::sin(ops::reshape(ops::arange(48.0), {12, 4}) + static_cast<double>(step));
    GradientTape tape;
    const Tensor loss = ops::mean(ops::square(net(x) - ops::sum(x, {1}, true)));
    const Variables weights = net.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    wait(5);
    return static_cast<double>(loss.item());
  });
  const auto fail = coordinator.function("fail", [](int) -> int { throw ShapeError("expected (2,)"); });
  if (coordinator.serve()) return 0;

  if (what == "mean") return say_means(coordinator, sum_of, argument.empty() ? 0 : std::stoi(argument));
  if (what == "throw") {
    coordinator.schedule(fail, 1);
    coordinator.join();
  }
  std::vector<RemoteValue<double>> losses;
  for (int step = 0; step < kSteps; ++step) losses.push_back(coordinator.schedule(train, step));
  losses[kSteps / 3].fetch();
  if (!argument.empty()) kill_task(argument);
  coordinator.join();
  std::printf("%lld updates, loss %.3f at first, %.3f at last\n",
              static_cast<long long>(optimizer.iterations()), losses.front().fetch(), losses.back().fetch());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    set_random_seed(3);
    std::ofstream(task() + ".pid") << ::getpid() << std::endl;
    if (is_parameter_server()) return serve_parameters();
    return serve_or_lead(arguments[1], count > 2 ? arguments[2] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 5;
  }
}
