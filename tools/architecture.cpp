#include <nyala/tools/architecture.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

void add_architecture_options(CLI::App& command, ArchitectureOptions& options) {
  sizes(command.add_option("--input-shape", options.input_shape, "height,width,channels"), 3);
  command.add_option("--classes", options.classes, "of the classifier")
      ->transform(whole_number(1))
      ->capture_default_str();
  command.add_option("--alpha", options.alpha, "width of the MobileNets")
      ->check(number_above(0))
      ->capture_default_str();
  command.add_flag("--no-top", options.no_top, "without the classifier");
  command.add_option("--pooling", options.pooling, "without the classifier: avg or max")
      ->check(CLI::IsMember({"avg", "max"}));
  only_with(command, "--no-top", {"--pooling"});
  command.get_option("--no-top")->excludes(command.get_option("--classes"));
}

std::vector<std::string> given_architecture_options(const CLI::App& command) {
  std::vector<std::string> given;
  for (const char* name : {"--input-shape", "--classes", "--alpha", "--no-top", "--pooling"})
    if (command.count(name) > 0) given.emplace_back(name);
  return given;
}

Model make_architecture(const ArchitectureOptions& options) {
  return applications::find_application(options.name)
      .make({.input_shape = Shape(options.input_shape),
             .alpha = options.alpha,
             .include_top = !options.no_top,
             .weights = options.weights,
             .pooling = options.pooling,
             .classes = options.classes});
}

}  // namespace nyala::tools
