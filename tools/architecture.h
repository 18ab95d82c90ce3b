#pragma once

#include <string>
#include <vector>

#include <nyala/tools/command.h>

namespace nyala::tools {

/// An architecture of keras.applications as the command line names it.
struct ArchitectureOptions {
  std::string name = {};
  std::string weights = "none";
  std::vector<int64_t> input_shape = {};
  int64_t classes = 1000;
  double alpha = 1.0;
  bool no_top = false;
  std::string pooling = {};
};

/// Adds --input-shape, --classes, --alpha, --no-top and --pooling to a command.
void add_architecture_options(CLI::App& command, ArchitectureOptions& options);

/// The names of these options that were given.
std::vector<std::string> given_architecture_options(const CLI::App& command);

/// Throws NotFoundError with the nearest names, and what the architecture throws for its arguments.
Model make_architecture(const ArchitectureOptions& options);

}  // namespace nyala::tools
