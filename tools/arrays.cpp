#include <algorithm>

#include <unistd.h>

#include <nyala/tools/command.h>

namespace nyala::tools {

NamedPath named_path(const std::string& argument, const std::vector<std::string>& names) {
  const size_t sign = argument.find('=');
  if (sign == std::string::npos) return {"", argument};
  const std::string name = argument.substr(0, sign);
  if (std::find(names.begin(), names.end(), name) == names.end()) return {"", argument};
  return {name, argument.substr(sign + 1)};
}

Tensors load_arrays(const std::vector<std::string>& arguments, const std::vector<std::string>& names,
                    const std::string& what) {
  if (arguments.size() != names.size())
    throw InvalidArgumentError("expected " + std::to_string(names.size()) + " " + what + "(s) (" +
                               quoted_list(names) + "), received " + std::to_string(arguments.size()));
  Tensors arrays(names.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const NamedPath given = named_path(arguments[i], names);
    const size_t place = given.name.empty() ? i
                                            : static_cast<size_t>(std::find(names.begin(), names.end(), given.name) -
                                                                  names.begin());
    if (arrays[place].defined())
      throw InvalidArgumentError(what + " '" + names[place] + "' is given twice");
    arrays[place] = load_npy(given.path);
  }
  return arrays;
}

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names = model.model_node().input_names();
  for (size_t i = names.size(); i < model.model_node().num_inputs(); ++i)
    names.push_back(i == 0 ? "x" : "x" + std::to_string(i));
  return names;
}

std::vector<std::string> output_names(const Model& model) {
  return model.model_node().output_names(1);
}

bool on_terminal() { return isatty(STDERR_FILENO) == 1; }

}  // namespace nyala::tools
