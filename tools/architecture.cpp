#include <nyala/tools/architecture.h>

namespace nyala::tools {

void add_architecture_options(CLI::App& command, ArchitectureOptions& options) {
  command.add_option("--input-shape", options.input_shape, "height,width,channels")
      ->delimiter(',')
      ->expected(3)
      ->check(CLI::PositiveNumber);
  command.add_option("--classes", options.classes, "of the classifier")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--alpha", options.alpha, "width of the MobileNets")
      ->check(number_above(0))
      ->capture_default_str();
  command.add_flag("--no-top", options.no_top, "without the classifier");
  command.add_option("--pooling", options.pooling, "without the classifier: avg or max")
      ->check(CLI::IsMember({"avg", "max"}));
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
