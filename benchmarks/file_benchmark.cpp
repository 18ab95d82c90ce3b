// Writes and reads a whole model of ResNet-50's size (102 MB of weights) and prints one JSON line for each of
// two shapes: a few large weights, and 320 small ones. Saving is compared with cp and fsync of the same
// bytes; memory is what the process's peak grows by, for loading above the weights themselves.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <nyala/nyala.h>

using namespace nyala;
using Clock = std::chrono::steady_clock;

namespace {

using Numbers = std::vector<double>;

constexpr double kMegabyte = 1024.0 * 1024.0;

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(Numbers values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// "VmRSS" and "VmHWM" of this process in MB.
double memory(const std::string& what) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(what + ":")) return std::stod(line.substr(what.size() + 1)) / 1024.0;
  return 0.0;
}

/// The growth of the peak while `work` runs.
double growth_of(const std::function<void()>& work) {
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = memory("VmRSS");
  work();
  return memory("VmHWM") - before;
}

/// Runs `work` in a process of its own, so that nothing measured before counts.
Numbers in_child(const std::function<Numbers()>& work) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    const Numbers numbers = work();
    for (const double number : numbers) dprintf(ends[1], "%.9g ", number);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char piece[256];
  for (ssize_t count; (count = read(ends[0], piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  Numbers numbers;
  std::istringstream stream(text);
  for (double number; stream >> number;) numbers.push_back(number);
  return numbers;
}

Model make_model(const std::string& shape) {
  const bool large = shape == "large";
  const int64_t layers = large ? 6 : 160, width = large ? 2060 : 398;
  Sequential model({Input({width})});
  for (int64_t i = 0; i < layers; ++i) model.add(Dense(width));
  return model;
}

void copy_and_flush(const std::string& from, const std::string& to) {
  if (std::system(("cp '" + from + "' '" + to + "'").c_str()) != 0) std::abort();
  const int file = open(to.c_str(), O_RDONLY);
  if (fsync(file) != 0) std::abort();
  close(file);
}

/// Seconds of save, of cp and fsync, megabytes by which the peak grows.
Numbers measure_save(const std::string& shape, const std::string& folder, int repeats) {
  const Model model = make_model(shape);
  const std::string path = folder + "/" + shape + ".keras", copy = folder + "/copy";
  model.save(path);
  Numbers saves, copies;
  const double growth = growth_of([&] { model.save(path); });
  for (int i = 0; i < repeats; ++i) {
    saves.push_back(seconds_of([&] { model.save(path); }));
    std::filesystem::remove(copy);
    copies.push_back(seconds_of([&] { copy_and_flush(path, copy); }));
  }
  return {median(saves), median(copies), growth};
}

/// Seconds of the first load, of a later one, megabytes by which the peak grows above the weights.
Numbers measure_load(const std::string& path, int repeats) {
  double first = 0.0, weights = 0.0;
  const double growth = growth_of([&] {
    Model model;
    first = seconds_of([&] { model = load_model(path); });
    for (const Variable& weight : model.weights())
      weights +=
          static_cast<double>(weight.shape().num_elements()) * static_cast<double>(size_of(weight.dtype()));
  });
  Numbers loads;
  for (int i = 0; i < repeats; ++i) loads.push_back(seconds_of([&] { load_model(path); }));
  return {first, median(loads), growth - weights / kMegabyte};
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder = std::filesystem::temp_directory_path().string();
  int repeats = 7;
  CLI::App app("Saving and loading of whole models");
  app.add_option("--folder", folder, "where files are written");
  app.add_option("--repeats", repeats, "medians of so many")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  for (const std::string shape : {"large", "small"}) {
    const std::string path = folder + "/" + shape + ".keras";
    const Numbers save = in_child([&] { return measure_save(shape, folder, repeats); });
    const Numbers load = in_child([&] { return measure_load(path, repeats); });
    std::printf(
        "{\"weights\": \"%s\", \"file_mb\": %.1f, \"save_s\": %.3f, \"cp_fsync_s\": %.3f, \"save_ratio\": "
        "%.2f, "
        "\"save_peak_mb\": %.1f, \"first_load_s\": %.3f, \"load_s\": %.3f, \"load_peak_above_weights_mb\": "
        "%.1f}\n",
        shape.c_str(), static_cast<double>(std::filesystem::file_size(path)) / kMegabyte, save[0], save[1],
        save[0] / save[1], save[2], load[0], load[1], load[2]);
    std::fflush(stdout);
    std::filesystem::remove(path);
    std::filesystem::remove(folder + "/copy");
  }
  return 0;
}
