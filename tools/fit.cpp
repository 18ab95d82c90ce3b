#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <set>
#include <sstream>

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/backend/core/printable.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/signal_watch.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/strategies/cluster/choose_cluster_resolver.h>
#include <nyala/strategies/cluster/cluster_task.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>
#include <nyala/tools/class_weight.h>
#include <nyala/tools/images.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

using namespace nyala::detail;

namespace {

struct FitOptions {
  std::string model, output, history, optimizer, loss, metrics, class_weight, strategy, devices;
  std::vector<std::string> inputs, targets, sample_weights;
  bool speaks = true;  // of several processes the first one
  int epochs = 1, verbose = kVerboseAuto;
  int64_t batch_size = 32, seed = -1;
  bool no_shuffle = false, cache = false, skip_broken = false, trusted_network = false, synchronous = false;
  int64_t staleness = -1;
  double validation_split = 0.0;
  std::string data, preprocess, preemption_checkpoint, dtype_policy;
  std::vector<int64_t> size;
};

/// Says at the start of training that nothing will come of it.
struct SayNotKept : Callback {
  void on_train_begin(Logs&) override {
    std::cerr << "hint: the trained model is not kept: there is no --output\n";
  }
};

/// Ends training after the step in which a signal came.
class StopOnSignal : public Callback {
 public:
  StopOnSignal(const SignalWatch& watch, bool& stopped) : watch_(watch), stopped_(stopped) {}
  void on_train_batch_end(int64_t, Logs&) override {
    if (!watch_.signal()) return;
    stopped_ = true;
    model().set_stop_training(true);
  }

 private:
  const SignalWatch& watch_;
  bool& stopped_;
};

/// The names between commas; none of an empty list. Throws InvalidArgumentError naming the option for an
/// empty name.
std::vector<std::string> split(const std::string& list, const char* option) {
  std::vector<std::string> items;
  if (list.empty()) return items;
  std::istringstream in(list + ",");
  for (std::string item; std::getline(in, item, ',');) {
    if (item.find_first_not_of(' ') == std::string::npos)
      throw InvalidArgumentError(std::string(option) + ": expected names with commas between, received " +
                                 in_quotes(list) + ", in which name " + std::to_string(items.size() + 1) +
                                 " is empty");
    items.push_back(item);
  }
  return items;
}

/// Logical devices for all that are named: "cpu:0,cpu:2" needs three.
void configure_devices(const std::vector<std::string>& names) {
  int cpus = 1;
  for (const std::string& name : names)
    if (const Device device(name); device.kind == DeviceKind::cpu) cpus = std::max(cpus, device.index + 1);
  if (cpus > 1) configure_logical_devices("cpu", cpus);
}

/// Processes of which none knows of the others would each train all of it, and write to one path.
void check_is_alone() {
  const ChosenClusterResolver chosen = choose_cluster_resolver();
  const ClusterSpec cluster = chosen.resolver->cluster_spec();
  const ClusterTask task{chosen.resolver->task_type(), chosen.resolver->task_id()};
  const int count = worker_count(cluster, task);
  if (count == 1) return;
  throw InvalidArgumentError(
      "fit: this is process " + std::to_string(id_in_cluster(cluster, task)) + " of " +
      std::to_string(count) + " (" + chosen.reason +
      "): expected --strategy multi_worker, by which they train together, or --strategy "
      "one_device, where each is meant to train by itself");
}

/// Runs f: what its errors call by the names of C++ has other names on the command line.
template <class F>
auto in_words_of_options(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    std::string text = error.what();
    for (const auto& [field, option] :
         {std::pair(".trusted_network = true", "--trusted-network"),
          std::pair("communication_options.trusted_network", "--trusted-network"),
          std::pair(".address", "address (nyala launch --coordinator)")})
      for (size_t at = 0; (at = text.find(field, at)) != std::string::npos; at += std::strlen(option))
        text.replace(at, std::strlen(field), option);
    throw Error(text);
  }
}

Strategy strategy_of(const FitOptions& options) {
  if (options.strategy.empty()) check_is_alone();
  if (options.strategy != "parameter_server" && (options.synchronous || options.staleness >= 0))
    throw InvalidArgumentError("fit: --synchronous and --staleness go with --strategy parameter_server");
  const std::vector<std::string> devices = split(options.devices, "--devices");
  configure_devices(devices);
  const std::string name = !options.strategy.empty() ? options.strategy
                           : devices.size() > 1      ? "mirrored"
                                                     : "one_device";
  if (name == "mirrored") return MirroredStrategy({.devices = devices});
  if (name == "central_storage") return CentralStorageStrategy({.compute_devices = devices});
  if (name == "multi_worker")
    return in_words_of_options([&] {
      return MultiWorkerMirroredStrategy(
          {.communication_options = {.trusted_network = options.trusted_network}, .devices = devices});
    });
  if (name == "parameter_server")
    return ParameterServerStrategy(
        {.devices = devices, .staleness = options.staleness, .synchronous = options.synchronous});
  if (name != "one_device")
    throw InvalidArgumentError(
        "unknown strategy " + in_quotes(name) +
        ": expected one_device, mirrored, central_storage, multi_worker or parameter_server");
  if (devices.size() > 1)
    throw InvalidArgumentError("one_device takes one device, received " + std::to_string(devices.size()));
  return OneDeviceStrategy(devices.empty() ? "cpu:0" : devices[0]);
}

/// Of several processes one tells what all have to say.
bool speaks(const Strategy& strategy) {
  if (ParameterServerJob* const job = strategy.node().parameter_server_job()) return job->is_chief();
  const ProcessExchange* const processes = strategy.node().processes();
  return !processes || processes->rank() == 0;
}

/// compile() anew where the command line says something else than the file.
void compile(const Model& model, const FitOptions& options) {
  if (options.optimizer.empty() && options.loss.empty() && options.metrics.empty() && model.compiled())
    return;
  if (!model.compiled() && options.loss.empty())
    throw StateError("the file does not say how to train: pass --loss (and --optimizer, --metrics)");
  CompileConfig config;
  if (model.compiled()) config = model.model_node().compiled_training().config;
  if (!options.optimizer.empty()) config.optimizer = parse_optimizer(options.optimizer);
  if (!options.loss.empty()) config.loss = Loss(options.loss);
  if (!options.metrics.empty()) {
    std::vector<Metric> metrics;
    for (const std::string& name : split(options.metrics, "--metrics")) metrics.emplace_back(name);
    config.metrics = PerOutput<Metric>(std::move(metrics));
    config.metrics_by_output = {};
  }
  model.compile(config);
}

bool all_of_one(const std::vector<History::Values>& epochs) {
  return std::all_of(epochs.begin(), epochs.end(), [](const auto& values) { return values.size() == 1; });
}

/// A metric with a value for each class or threshold is a list per epoch.
void write_history(const History& history, const std::string& path) {
  Json out = Json::object();
  for (const auto& [name, numbers] : history.history())
    out[name] = all_of_one(history.values(name)) ? Json(numbers) : Json(history.values(name));
  const std::string text = out.dump() + "\n";
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

/// Keras' sample_weight: one array for all outputs or one per output.
PerOutput<Tensor> weights_of(const FitOptions& options) {
  std::vector<Tensor> weights;
  for (const std::string& path : options.sample_weights) weights.push_back(load_npy(path));
  return PerOutput<Tensor>(std::move(weights));
}

void check_data(const FitOptions& options) {
  if (!options.data.empty() && !(options.inputs.empty() && options.targets.empty()))
    throw InvalidArgumentError("fit: expected either --data (a folder of pictures) or --input and --target");
  if (options.data.empty() && (options.inputs.empty() || options.targets.empty()))
    throw InvalidArgumentError(
        "fit: expected --input and --target (arrays), or --data (a folder of pictures)");
  preprocessing(options.preprocess);  // a wrong name before long work
  const bool is_drawn = !options.data.empty() && !options.no_shuffle && options.seed < 0;
  if (!options.preemption_checkpoint.empty() && is_drawn)
    throw InvalidArgumentError(
        "fit: --preemption-checkpoint goes on in the order in which pictures were shuffled: expected --seed "
        "or --no-shuffle");
}

/// The history replaces what is at its path: not what else the command reads or writes.
void check_history(const FitOptions& options) {
  if (options.history.empty()) return;
  const auto is_same = [&](const std::string& path) {
    const auto place = [](const std::filesystem::path& p) { return weakly_canonical(absolute(p)); };
    return !path.empty() && place(path) == place(options.history);
  };
  if (is_same(options.output) || is_same(options.model))
    throw InvalidArgumentError("fit: --history " + in_quotes(options.history) +
                               " is the path of the model: expected a path of its own");
  check_reads_another("--history", options.history,
                      {options.inputs, options.targets, options.sample_weights});
  check_output(options.history, {".json"});
}

History fit_arrays(const Model& model, const FitOptions& options, FitConfig config) {
  const Tensors x = load_arrays(options.inputs, input_names(model), "--input");
  const Tensors y = load_arrays(options.targets, output_names(model), "--target");
  config.batch_size = options.batch_size;
  config.validation_split = options.validation_split;
  config.shuffle = !options.no_shuffle;
  config.sample_weight = weights_of(options);
  return naming_arrays({options.inputs, options.targets, options.sample_weights},
                       [&] { return model.fit(x, y, config); });
}

History fit_images(const Model& model, const FitOptions& options, FitConfig config) {
  const ImageData data = read_image_folder(model, {.folder = options.data,
                                                   .validation_split = options.validation_split,
                                                   .batch_size = options.batch_size,
                                                   .seed = options.seed,
                                                   .shuffle = !options.no_shuffle,
                                                   .skip_broken = options.skip_broken,
                                                   .preprocess = options.preprocess,
                                                   .size = options.size});
  if (options.speaks) {
    std::cerr << "classes: " << printable(quoted_list(data.class_names)) << "\n";
    if (const std::string hint = preprocessing_hint(model); options.preprocess.empty() && !hint.empty())
      std::cerr << hint << "\n";
  }
  if (options.validation_split > 0) config.validation_data = data.validation;
  return model.fit(data.train, config);
}

/// A preemption comes first: then nothing else hears of the signal.
std::vector<CallbackArgument> callbacks_of(const FitOptions& options, const SignalWatch& watch,
                                           bool& stopped) {
  std::vector<CallbackArgument> callbacks;
  if (!options.preemption_checkpoint.empty())
    callbacks.emplace_back(PreemptionCheckpointHandler(options.preemption_checkpoint));
  callbacks.emplace_back(StopOnSignal(watch, stopped));
  if (options.output.empty() && options.speaks) callbacks.emplace_back(SayNotKept());
  return callbacks;
}

History train(const Model& model, const FitOptions& options, const SignalWatch& watch, bool& stopped) {
  const FitConfig config = {.epochs = options.epochs,
                            .verbose = options.speaks ? options.verbose : 0,
                            .callbacks = callbacks_of(options, watch, stopped),
                            .class_weight = class_weight_of(options.class_weight, model),
                            .cache_frozen_features = options.cache};
  try {
    return options.data.empty() ? fit_arrays(model, options, config) : fit_images(model, options, config);
  } catch (const PreemptedError&) {
    if (options.speaks)
      std::cerr << "preempted; the same command goes on from " << options.preemption_checkpoint << "\n";
    throw ExitStatus{preemption_exit_code};
  }
}

void fit(FitOptions options) {
  if (options.strategy == "parameter_server" && is_parameter_server()) {
    if (const int status = serve_parameters()) throw ExitStatus{status};
    return;
  }
  check_data(options);
  if (!options.output.empty()) {
    check_model_output(options.output);
    check_reads_another("--output", options.output,
                        {options.inputs, options.targets, options.sample_weights});
  }
  check_history(options);
  if (options.seed >= 0) set_random_seed(static_cast<uint64_t>(options.seed));
  const Strategy strategy = strategy_of(options);
  options.speaks = speaks(strategy);
  const Model model = strategy.scope([&] {
    const Model loaded = load_model(options.model, {.dtype_policy = options.dtype_policy});
    compile(loaded, options);
    return loaded;
  });
  const SignalWatch watch({SIGINT, SIGTERM, SIGHUP});
  bool stopped = false;
  const History history = train(model, options, watch, stopped);
  if (!options.output.empty()) write_model(model, options.output);
  if (!options.history.empty() && options.speaks) write_history(history, options.history);
  const int signal = watch.signal();
  if (signal != 0 && !stopped && !options.preemption_checkpoint.empty()) {  // there is nothing to go on with
    if (options.speaks) std::cerr << "a signal came when training had ended\n";
  } else if (signal != 0) {
    if (options.speaks)
      std::cerr << "interrupted"
                << (options.output.empty() ? "; nothing was saved (no --output)"
                                           : "; saved " + options.output)
                << "\n";
    throw ExitStatus{128 + signal};
  }
}

}  // namespace

void add_fit(CLI::App& app) {
  const auto o = std::make_shared<FitOptions>();
  CLI::App* command = app.add_subcommand("fit", "Trains the model where its file says training stopped.");
  command->add_option("model", o->model, "a .keras or whole-model .h5 file")->required();
  repeated(command->add_option("--input", o->inputs, "X.npy, or name=X.npy; once per input"));
  repeated(command->add_option("--target", o->targets, "Y.npy, or name=Y.npy; once per output"));
  command->add_option("--data", o->data, "a folder with a folder of pictures per class, instead of arrays");
  repeated(
      command->add_option("--sample-weight", o->sample_weights, "W.npy, for all outputs or once for each"));
  command->add_option("--class-weight", o->class_weight, "JSON: {\"0\": 1.0, \"1\": 2.5}");
  add_dtype_policy_option(*command, o->dtype_policy);
  command->add_option("--epochs", o->epochs, "passes over the data")
      ->transform(whole_number(1, std::numeric_limits<int>::max()));
  command->add_option("--batch-size", o->batch_size, "rows of a step")->transform(whole_number(1));
  command->add_flag("--no-shuffle", o->no_shuffle, "keep the order of the rows");
  command->add_option("--validation-split", o->validation_split, "the last part of the rows, to validate on")
      ->check(number_from(0, 1));
  command->add_option(
      "--preprocess", o->preprocess,
      "of pictures: the name of an architecture (mobilenet_v2), tf, caffe, torch or none (0 to "
      "255, the default)");
  sizes(command->add_option("--size", o->size, "height,width of pictures, where the model takes any"), 2);
  command->add_flag("--skip-broken", o->skip_broken, "leave out pictures that cannot be decoded");
  command->add_flag("--cache-frozen-features", o->cache,
                    "compute what frozen layers in front give for a row once, not in every epoch");
  command->add_option("--seed", o->seed, "of everything that is random")->transform(whole_number(0));
  command->add_option("--optimizer", o->optimizer,
                      "a name, or JSON as in Keras' files, instead of the file's");
  command->add_option("--loss", o->loss, "a name, instead of the file's");
  command->add_option("--metrics", o->metrics, "names with commas, instead of the file's");
  command->add_option(
      "--strategy", o->strategy,
      "one_device, mirrored, central_storage; multi_worker: the processes of nyala launch or of TF_CONFIG; "
      "parameter_server: the tasks of nyala launch --ps or of TF_CONFIG");
  command->add_flag("--synchronous", o->synchronous,
                    "with parameter_server: workers train each batch together, with one device's numbers");
  command
      ->add_option("--staleness", o->staleness,
                   "with parameter_server: at most so many updates by others while a batch is trained")
      ->transform(whole_number(0));
  command->add_flag("--trusted-network", o->trusted_network,
                    "with multi_worker: nobody else is in the network between the hosts");
  command->add_option("--devices", o->devices, "cpu:0,cpu:1: one replica on each");
  command->add_option(
      "--output", o->output,
      "the trained model, .keras or .h5; or its weights alone, .weights.h5, .safetensors or .npz");
  command->add_option("--history", o->history, "loss and metrics of each epoch, as JSON");
  command->add_option(
      "--preemption-checkpoint", o->preemption_checkpoint,
      "a folder: SIGTERM ends the step, saves there and exits with 42; the same command goes on");
  command->add_option("--verbose", o->verbose, "0 silent, 1 a bar, 2 a line per epoch")
      ->transform(whole_number(0, 2));
  only_with(*command, "--data", {"--preprocess", "--size", "--skip-broken"});
  only_with(*command, "--input", {"--sample-weight"});
  command->footer(
      "Examples:\n  nyala fit model.keras --input x.npy --target y.npy --epochs 3 --output better.keras\n"
      "  nyala fit model.keras --data photos --validation-split 0.2 --loss sparse_categorical_crossentropy "
      "--metrics accuracy --output better.keras");
  command->callback([o] { fit(*o); });
}

}  // namespace nyala::tools
