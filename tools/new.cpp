#include <memory>

#include <nyala/models/all.h>
#include <nyala/tools/command.h>

namespace nyala::tools {

namespace {

struct Options {
  std::string name, output;
  std::string weights = "none";
  std::vector<int64_t> input_shape;
  int64_t classes = 1000;
  double alpha = 1.0;
  bool no_top = false;
  std::string pooling;
  int64_t seed = -1;
};

void make(const Options& options) {
  check_output(options.output, {".keras", ".h5", ".hdf5"});
  const applications::Application& application = applications::find_application(options.name);
  if (options.seed >= 0) set_random_seed(static_cast<uint64_t>(options.seed));
  const Model model = application.make({.input_shape = Shape(options.input_shape),
                                        .alpha = options.alpha,
                                        .include_top = !options.no_top,
                                        .weights = options.weights,
                                        .pooling = options.pooling,
                                        .classes = options.classes});
  model.save(options.output);
}

}  // namespace

void add_new(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("new", "Makes a model of an architecture of keras.applications.");
  command->add_option("name", options->name, "MobileNetV2, ResNet50, EfficientNetB0, ...")->required();
  command->add_option("--output", options->output, "a .keras or .h5 file")->required();
  command
      ->add_option("--weights", options->weights,
                   "none (random), imagenet (Keras' published file), or the path of a file")
      ->capture_default_str();
  command->add_option("--input-shape", options->input_shape, "height,width,channels")
      ->delimiter(',')
      ->expected(3);
  command->add_option("--classes", options->classes, "of the classifier")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--alpha", options->alpha, "width of the MobileNets")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--no-top", options->no_top, "without the classifier");
  command->add_option("--pooling", options->pooling, "without the classifier: avg or max")
      ->check(CLI::IsMember({"avg", "max"}));
  command->add_option("--seed", options->seed, "of the random weights")->check(CLI::NonNegativeNumber);
  command->footer(
      "Example:\n  nyala new MobileNetV2 --output m.keras --input-shape 96,96,3 --classes 10 --alpha 0.35");
  command->callback([options] { make(*options); });
}

}  // namespace nyala::tools
