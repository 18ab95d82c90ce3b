// network_worker FOLDER NAME [key=value ...]: one of several processes that train, for tests/network. It says
// what happens to it, each line with the time of the monotonic clock, which the network namespaces of a
// machine share, and leaves its weights and history in FOLDER/final-NAME. Where FOLDER/throw-NAME is, its
// replica throws.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <nyala/nyala.h>
#include <nyala/strategies/process_generations.h>

using namespace nyala;

namespace {

void say(const std::string& what, std::string text) {
  std::ranges::replace(text, '\n', ' ');
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::printf("%s %.4f %s\n", what.c_str(), now, text.c_str());
  std::fflush(stdout);
}

/// The arguments, and what holds where one is not given.
class Settings {
 public:
  Settings(int count, char** arguments) : folder(arguments[1]), name(arguments[2]) {
    for (int i = 3; i < count; ++i) {
      const std::string text = arguments[i];
      const size_t sign = text.find('=');
      if (sign == std::string::npos || !values_.contains(text.substr(0, sign)))
        throw InvalidArgumentError("network_worker: expected key=value, received " + text);
      values_[text.substr(0, sign)] = text.substr(sign + 1);
    }
  }
  const std::string& text(const std::string& key) const { return values_.at(key); }
  int number(const std::string& key) const { return std::stoi(values_.at(key)); }

  const std::string folder, name;

 private:
  std::map<std::string, std::string> values_ = {
      {"epochs", "4"},          {"pace", "40"},   {"units", "24"},
      {"timeout", "20"},        {"trusted", "1"}, {"implementation", "automatic"},
      {"dtype", "float32"},     {"save", ""},     {"min_workers", "0"},
      {"rejoin_timeout", "30"}, {"shows", "0"},   {"idle", "0"}};
};

/// Throws in a step once there is a file of that name.
struct ThrowsWhenTold final : LayerNode {
  std::string path;
  explicit ThrowsWhenTold(std::string file) : path(std::move(file)) {}
  std::string class_name() const override { return "ThrowsWhenTold"; }
  Tensor call(Call& c, const Tensor& x) const override {
    if (c.training() && !x.is_abstract() && std::filesystem::exists(path))
      throw std::runtime_error("this replica has no numbers");
    return x;
  }
};

Tensor wave(const Shape& shape, double step, const std::string& dtype) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(std::sin(static_cast<double>(i + 1) * step));
  return ops::cast(Tensor::from(values).with_shape(shape), DType(dtype));
}

void train(const Settings& settings) {
  const std::string& dtype = settings.text("dtype");
  MultiWorkerMirroredStrategy::Config config;
  config.communication_options.timeout = std::chrono::seconds(settings.number("timeout"));
  config.communication_options.trusted_network = settings.number("trusted") == 1;
  if (settings.text("implementation") == "gloo")
    config.communication_options.implementation = CommunicationImplementation::gloo;
  config.min_workers = settings.number("min_workers");
  config.rejoin_timeout = std::chrono::seconds(settings.number("rejoin_timeout"));
  const MultiWorkerMirroredStrategy strategy(config);
  say("joined", std::to_string(strategy.rank()) + " " + std::to_string(strategy.num_processes()));
  std::this_thread::sleep_for(std::chrono::milliseconds(settings.number("idle")));
  set_random_seed(5);
  const Model model = strategy.scope([&] {
    Sequential made({Input({10}, {.dtype = dtype}),
                     Dense(settings.number("units"), {.activation = "tanh", .dtype = dtype}),
                     make_layer<ThrowsWhenTold>(settings.folder + "/throw-" + settings.name),
                     BatchNormalization({.dtype = dtype}), Dropout(0.2), Dense(3, {.dtype = dtype})});
    made.compile({.optimizer = Adam(0.005), .loss = "mse", .metrics = {"mae"}});
    return made;
  });
  const Tensor x = wave({92, 10}, 0.37, dtype), y = wave({92, 3}, 0.11, dtype);
  LambdaCallback tells(
      {.on_train_batch_begin =
           [&](int64_t, Logs&) {
             std::this_thread::sleep_for(std::chrono::milliseconds(settings.number("pace")));
           },
       .on_train_batch_end =
           [&](int64_t batch, Logs&) {
             ProcessGenerations* const generations = strategy.node().generations();
             say("step",
                 std::to_string(batch) + " " +
                     std::to_string(generations ? generations->communicators().steps->generation() : 0) +
                     " " + std::to_string(strategy.num_processes()));
           }});
  FitConfig fit{.batch_size = 8, .epochs = settings.number("epochs"), .verbose = 0, .callbacks = {tells}};
  if (settings.number("shows") == 1) {
    set_default_verbosity(2);
    fit.verbose = kVerboseAuto;
  }
  if (!settings.text("save").empty())
    fit.callbacks.push_back(ModelCheckpoint(settings.text("save"), {.save_weights_only = true}));
  const History history = model.fit(x, y, fit);
  std::vector<double> numbers;
  for (const Tensor& weight : model.get_weights())
    for (const double value : ops::cast(weight, DType::float64).to_vector<double>()) numbers.push_back(value);
  for (const auto& [metric, values] : history) numbers.insert(numbers.end(), values.begin(), values.end());
  std::ofstream(settings.folder + "/final-" + settings.name, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(double)));
  say("done", std::to_string(strategy.num_processes()));
}

}  // namespace

int main(int count, char** arguments) {
  set_log_sink([](LogChannel, std::string_view text) { say("log", std::string(text)); });
  const auto failed = [](const std::string& type, const std::exception& error, int status) {
    say("error", type + " " + error.what());
    return status;
  };
  try {
    const Settings settings(count, arguments);
    say("start", std::to_string(::getpid()));
    train(settings);
    return 0;
  } catch (const PeerLostError& error) {
    return failed("PeerLostError", error, 3);
  } catch (const TimeoutError& error) {
    return failed("TimeoutError", error, 3);
  } catch (const CommunicationError& error) {
    return failed("CommunicationError", error, 3);
  } catch (const StateError& error) {
    return failed("StateError", error, 4);
  } catch (const IoError& error) {
    return failed("IoError", error, 4);
  } catch (const InvalidArgumentError& error) {
    return failed("InvalidArgumentError", error, 4);
  } catch (const Error& error) {
    return failed("Error", error, 4);
  } catch (const std::exception& error) {
    return failed("std::exception", error, 5);
  }
}
