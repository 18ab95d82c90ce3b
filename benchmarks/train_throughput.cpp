// Trains one of the compared networks on synthetic data and prints one JSON line with the median and best
// throughput. Over processes: nyala launch -n 2 -- train_throughput --strategy multi_worker
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <nyala/nyala.h>

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/benchmarks/support/benchmark_models.h>

using namespace nyala;
using namespace nyala::detail;
using Clock = std::chrono::steady_clock;

namespace {

struct Options {
  std::string model = "lenet";
  std::string dtype = "float32", precision = "highest";
  int64_t batch = 0;
  int devices = 1;
  int threads = 0;
  double seconds = 5.0;
  int warmup = 5;
  size_t steps = 0;
  std::string strategy = "none";
  std::string implementation = "automatic";
  bool separate = false;
  bool infer = false;
  bool frozen = false;
  std::string recompute = "automatic";
};

double load_average() {
  std::ifstream file("/proc/loadavg");
  double load = 0;
  file >> load;
  return load;
}

/// "VmRSS" and "VmHWM" of this process in MB.
double memory(const std::string& what) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(what + ":")) return std::stod(line.substr(what.size() + 1)) / 1024.0;
  return 0.0;
}

/// What all threads of this process have used, in seconds.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Training throughput on synthetic data");
  app.add_option(
      "--model", options.model,
      "lenet5, lenet, mlp, lstm, transformer, resnet20, resnet18, resnet50, mobilenet_v2 or xception");
  app.add_option("--precision", options.precision, "of products of float32: highest, high or medium")
      ->capture_default_str();
  app.add_option("--dtype", options.dtype, "dtype policy of all layers")
      ->check(
          CLI::IsMember({"float32", "float64", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16"}));
  app.add_option("--batch", options.batch, "rows of the global batch (default: the model's)");
  app.add_option("--devices", options.devices,
                 "logical CPU devices for --strategy mirrored or central_storage");
  app.add_option("--threads", options.threads,
                 "threads per device (default: the device's share of the cores)");
  app.add_option("--seconds", options.seconds, "measuring time");
  app.add_option("--steps", options.steps, "measure exactly so many steps instead (for instruction counts)");
  app.add_option("--warmup", options.warmup, "steps before measuring");
  app.add_option("--strategy", options.strategy, "none, mirrored, central_storage or multi_worker")
      ->check(CLI::IsMember({"none", "mirrored", "central_storage", "multi_worker"}));
  app.add_option("--implementation", options.implementation, "by what processes exchange numbers")
      ->check(CLI::IsMember({"automatic", "shared_memory", "gloo"}));
  app.add_flag("--separate", options.separate, "mirrored weights in separate storage");
  app.add_option("--recompute", options.recompute, "recompute_batch_normalization of compile")
      ->check(CLI::IsMember({"automatic", "always", "never"}));
  app.add_flag("--frozen", options.frozen, "only the last layer with weights trains, as a new head does");
  app.add_flag("--inference", options.infer, "predict instead of training");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

CommunicationImplementation implementation(const std::string& name) {
  for (const auto one : {CommunicationImplementation::shared_memory, CommunicationImplementation::gloo})
    if (name == name_of(one)) return one;
  return CommunicationImplementation::automatic;
}

/// The strategy that was asked for, none where programs name none, and whether this process prints.
struct Place {
  std::optional<Strategy> strategy = {};
  bool is_chief = true;
};

Place make_place(const Options& options) {
  if (options.strategy == "none") return {};
  configure_logical_devices("cpu", options.devices);
  std::vector<std::string> devices;
  for (int i = 0; i < options.devices; ++i) devices.push_back("cpu:" + std::to_string(i));
  if (options.strategy == "central_storage")
    return {CentralStorageStrategy({.compute_devices = devices, .parameter_device = "cpu:0"})};
  const SharedWeights shared = options.separate ? SharedWeights::never : SharedWeights::automatic;
  if (options.strategy == "mirrored")
    return {MirroredStrategy({.devices = devices, .shared_weights = shared})};
  const MultiWorkerMirroredStrategy strategy(
      {.communication_options = {.implementation = implementation(options.implementation)},
       .devices = devices,
       .shared_weights = shared});
  return {strategy, strategy.is_chief()};
}

benchmarks::BenchmarkModel make_model(const Options& options, const std::optional<Strategy>& strategy) {
  const auto make = [&] {
    std::optional<bool> recompute;
    if (options.recompute != "automatic") recompute = options.recompute == "always";
    return benchmarks::make_benchmark_model(options.model, options.dtype, recompute);
  };
  return strategy ? strategy->scope(make) : make();
}

/// All layers but the last one that has weights.
void freeze_base(const Model& model) {
  std::vector<Layer> layers = model.layers();
  std::erase_if(layers, [](const Layer& layer) { return layer.weights().empty(); });
  layers.pop_back();
  for (const Layer& layer : layers) layer.set_trainable(false);
  model.compile(CompileConfig(model.model_node().compiled_training().config));
}

/// The most that a process says.
int64_t agreed(const Strategy& strategy, int64_t own) {
  int64_t most = own;
  for (const int64_t one : strategy.gather(Tensor::from(std::vector<int64_t>{own}), 0).to_vector<int64_t>())
    most = std::max(most, one);
  return most;
}

Batch synthetic(const benchmarks::BenchmarkModel& bench, int64_t rows) {
  Shape shape{rows};
  for (int64_t size : bench.input) shape.append(size);
  DrawStream random(7);
  std::vector<float> x(static_cast<size_t>(shape.num_elements()));
  for (float& value : x) value = static_cast<float>(random.uniform());
  std::vector<int64_t> y;
  for (int64_t i = 0; i < rows; ++i)
    y.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(bench.classes))));
  return {.x = {Tensor::from(x, shape)}, .y = {Tensor::from(y)}, .sample_weight = {}};
}

}  // namespace

int main(int argc, char** argv) try {
  const auto start = Clock::now();
  Options options = parse(argc, argv);
  if (options.threads > 0) thread_context().compute_threads = options.threads;
  set_float32_precision(options.precision);
  set_random_seed(1);
  const double memory_before = memory("VmRSS");
  const auto [strategy, is_chief] = make_place(options);
  const auto bench = make_model(options, strategy);
  if (options.frozen) freeze_base(bench.model);
  const int64_t rows = options.batch > 0 ? options.batch : bench.default_batch;
  const Batch batch = synthetic(bench, rows);
  auto step = [&] {
    if (options.infer)
      bench.model.predict(batch.x[0], {.batch_size = rows, .verbose = 0});
    else
      bench.model.train_on_batch(batch);
  };
  const double load_before = load_average();
  step();
  const double first_step = seconds_since(start);
  for (int i = 1; i < options.warmup; ++i) step();
  const bool over_processes = options.strategy == "multi_worker";
  if (over_processes && options.steps == 0) {  // all take the same number of steps
    const auto before = Clock::now();
    step();
    options.steps = static_cast<size_t>(agreed(
        *strategy, std::max<int64_t>(3, static_cast<int64_t>(options.seconds / seconds_since(before)))));
  }
  const AllocatorStats warm = allocator_stats(Device());
  reset_memory_stats(Device());
  std::vector<double> times, cpu_times;
  const auto begin = Clock::now();
  auto goes_on = [&] {
    if (options.steps > 0) return times.size() < options.steps;
    return times.size() < 3 || seconds_since(begin) < options.seconds;
  };
  while (goes_on()) {
    const auto before = Clock::now();
    const double cpu_before = cpu_seconds();
    step();
    times.push_back(seconds_since(before));
    cpu_times.push_back(cpu_seconds() - cpu_before);
  }
  const AllocatorStats stats = allocator_stats(Device());
  const uint64_t allocations = stats.system_allocations - warm.system_allocations;
  std::sort(times.begin(), times.end());
  std::sort(cpu_times.begin(), cpu_times.end());
  if (!is_chief) return 0;
  const int processes = strategy ? strategy->num_replicas_in_sync() / options.devices : 1;
  const double median = times[times.size() / 2];
  std::printf(
      "{\"program\": \"nyala\", \"model\": \"%s\", \"batch\": %lld, \"dtype\": \"%s\", \"precision\": "
      "\"%s\", "
      "\"devices\": %d, \"threads\": %d, \"strategy\": \"%s\", \"processes\": %d, \"mode\": \"%s\", "
      "\"steps\": %zu, "
      "\"median_img_s\": %.1f, "
      "\"best_img_s\": %.1f, \"step_ms_median\": %.4f, \"step_cpu_ms_median\": %.4f, \"first_step_s\": %.3f, "
      "\"storage_allocations\": "
      "%llu, "
      "\"peak_mb\": %.0f, \"peak_tensors_mb\": %.1f, \"load\": [%.2f, %.2f], \"versions\": {\"nyala\": "
      "\"%s\"}}\n",
      options.model.c_str(), static_cast<long long>(rows), options.dtype.c_str(), options.precision.c_str(),
      options.devices, options.threads, options.strategy.c_str(), processes,
      options.infer ? "inference" : "training", times.size(), static_cast<double>(rows) / median,
      static_cast<double>(rows) / times.front(), median * 1e3, cpu_times[cpu_times.size() / 2] * 1e3,
      first_step, static_cast<unsigned long long>(allocations), memory("VmHWM") - memory_before,
      static_cast<double>(stats.peak_bytes) / (1024.0 * 1024.0), load_before, load_average(),
      std::string(version()).c_str());
  return 0;
} catch (const nyala::Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
