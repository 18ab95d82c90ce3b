#include <algorithm>
#include <filesystem>

#include <unistd.h>

#include <nyala/files/base/atomic_file.h>
#include <nyala/tools/command.h>

namespace nyala::tools {

using namespace nyala::detail;

NamedPath named_path(const std::string& argument, const std::vector<std::string>& names) {
  const size_t sign = argument.find('=');
  if (sign == std::string::npos) return {"", argument};
  const std::string name = argument.substr(0, sign);
  if (std::find(names.begin(), names.end(), name) != names.end()) return {name, argument.substr(sign + 1)};
  std::error_code code;
  if (std::filesystem::exists(argument, code)) return {"", argument};
  throw InvalidArgumentError(in_quotes(argument) + ": there is no such file, and the model has no " +
                             in_quotes(name) + ": expected one of " + quoted_list(names));
}

Tensors load_arrays(const std::vector<std::string>& arguments, const std::vector<std::string>& names,
                    const std::string& what) {
  if (arguments.size() != names.size())
    throw InvalidArgumentError("expected " + std::to_string(names.size()) + " " + what + "(s) (" +
                               quoted_list(names) + "), received " + std::to_string(arguments.size()));
  std::vector<std::string> paths(names.size()), unnamed;
  for (const std::string& argument : arguments) {
    const NamedPath given = named_path(argument, names);
    if (given.name.empty()) {
      unnamed.push_back(given.path);
      continue;
    }
    std::string& path =
        paths[static_cast<size_t>(std::find(names.begin(), names.end(), given.name) - names.begin())];
    if (!path.empty()) throw InvalidArgumentError(what + " " + in_quotes(given.name) + " is given twice");
    path = given.path;
  }
  Tensors arrays;
  auto next = unnamed.begin();
  for (const std::string& path : paths) arrays.push_back(load_npy(path.empty() ? *next++ : path));
  return arrays;
}

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names = model.model_node().input_names();
  for (size_t i = names.size(); i < model.model_node().num_inputs(); ++i)
    names.push_back(i == 0 ? "x" : "x" + std::to_string(i));
  return names;
}

std::vector<std::string> output_names(const Model& model, size_t count) {
  std::vector<std::string> names = model.model_node().output_names(count);
  for (size_t i = 1; i < names.size(); ++i) {
    const std::string name = names[i];
    const auto taken = [&] {
      return std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
             names.begin() + static_cast<std::ptrdiff_t>(i);
    };
    for (int number = 1; taken(); ++number) names[i] = name + "_" + std::to_string(number);
  }
  return names;
}

namespace {

const std::vector<std::string> kWhole = {".keras", ".h5", ".hdf5"};
const std::vector<std::string> kWeights = {".weights.h5", ".safetensors", ".npz"};

bool ends_with_one_of(const std::string& path, const std::vector<std::string>& ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const std::string& end) { return path.ends_with(end); });
}

}  // namespace

void check_model_output(const std::string& path) {
  std::vector<std::string> ends = kWeights;
  ends.insert(ends.end(), kWhole.begin(), kWhole.end());
  check_output(path, ends);
}

void write_model(const Model& model, const std::string& path) {
  if (ends_with_one_of(path, kWeights))
    model.save_weights(path);
  else
    model.save(path);
}

void check_output(const std::string& path, const std::vector<std::string>& ends) {
  if (!ends_with_one_of(path, ends))
    throw InvalidArgumentError("cannot write '" + path + "': expected a path that ends with " +
                               quoted_list(ends));
  const AtomicFile proof(path);  // never committed
}

void check_reads_another(const std::string& option, const std::string& output,
                         const std::vector<std::vector<std::string>>& read) {
  const auto check = [&](const std::string& path) {
    std::error_code code;  // of files that are not there
    if (std::filesystem::equivalent(path, output, code))
      throw InvalidArgumentError(option + " " + in_quotes(output) + " is the file " + in_quotes(path) +
                                 ", which is read: expected a path of its own");
  };
  for (const std::vector<std::string>& arguments : read)
    for (const std::string& argument : arguments) {
      check(argument);
      if (const size_t sign = argument.find('='); sign != std::string::npos) check(argument.substr(sign + 1));
    }
}

bool on_terminal() { return isatty(STDERR_FILENO) == 1; }

}  // namespace nyala::tools
