// parameter_rates [--pauses MS,MS,...] [--units N] [--batches N] [--synchronous] [--backup N]: one process of
// a cluster with parameter servers, which trains a network of about 64 x units weights. Worker i pauses MS_i
// in each batch (the last one holds for the rest), in place of computing. The chief says how many batches per
// second all of them train.
//   nyala launch --ps 1 --workers 3 --chief -- parameter_rates --pauses 20,20,100
// parameter_rates.py compares what workers of unequal speed, and a slow network, come to.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

using Clock = std::chrono::steady_clock;

/// What a worker computes.
struct Pauses final : LayerNode {
  std::chrono::milliseconds time{0};
  explicit Pauses(int milliseconds) : time(milliseconds) {}
  std::string class_name() const override { return "Pauses"; }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training() && !x.is_abstract()) std::this_thread::sleep_for(time);
    return x;
  }
};

}  // namespace

int main(int count, char** arguments) {
  std::vector<int> pauses = {0};
  int64_t units = 64, batches = 200, backup = 0;
  bool synchronous = false;
  CLI::App app("How many batches per second workers train by parameter servers");
  app.add_option("--pauses", pauses, "milliseconds of each worker's batch")->delimiter(',');
  app.add_option("--units", units, "of the hidden layer, which has 64 inputs");
  app.add_option("--batches", batches);
  app.add_option("--backup", backup, "backup workers");
  app.add_flag("--synchronous", synchronous);
  CLI11_PARSE(app, count, arguments);
  if (is_parameter_server()) return serve_parameters();

  const auto resolver = choose_cluster_resolver().resolver;
  const auto worker = static_cast<size_t>(resolver->task_type() == "worker" ? resolver->task_id() : 0);
  const ParameterServerStrategy strategy({.cluster_resolver = resolver,
                                          .devices = {"cpu:0"},
                                          .synchronous = synchronous,
                                          .backup_workers = static_cast<int>(backup)});
  const auto scope = strategy.scope();
  const Sequential net({Input({64}), make_layer<Pauses>(pauses[std::min(worker, pauses.size() - 1)]),
                        Dense(units, {.name = "wide"}), Dense(1, {.name = "out"})});
  net.compile({.optimizer = SGD(1e-4), .loss = "mse"});
  const int64_t rows = 8 * batches;
  const Tensor x = ops::ones({rows, 64}), y = ops::zeros({rows, 1});
  Clock::time_point begun;
  int64_t done = 0, since = 0;
  LambdaCallback counts({.on_train_batch_end = [&](int64_t, Logs&) {
    if (++done == batches / 10) begun = Clock::now(), since = done;  // all have come
  }});
  net.fit(x, y, {.batch_size = 8, .verbose = 0, .callbacks = {counts}});
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  if (strategy.is_chief())
    std::printf("%.2f batches per second\n", static_cast<double>(done - since) / seconds);
}
