#include <memory>

#include <nyala/tools/architecture.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

namespace {

struct NewOptions {
  ArchitectureOptions architecture;
  std::string output;
  int64_t seed = -1;
};

void make(const NewOptions& options) {
  check_output(options.output, {".keras", ".h5", ".hdf5"});
  if (options.seed >= 0) set_random_seed(static_cast<uint64_t>(options.seed));
  make_architecture(options.architecture).save(options.output);
}

}  // namespace

void add_new(CLI::App& app) {
  const auto options = std::make_shared<NewOptions>();
  CLI::App* command = app.add_subcommand("new", "Makes a model of an architecture of keras.applications.");
  command->add_option("name", options->architecture.name, "MobileNetV2, ResNet50, EfficientNetB0, ...")
      ->required();
  command->add_option("--output", options->output, "a .keras or .h5 file")->required();
  command
      ->add_option("--weights", options->architecture.weights,
                   "none (random), imagenet (Keras' published file), or the path of a file")
      ->capture_default_str();
  add_architecture_options(*command, options->architecture);
  command->add_option("--seed", options->seed, "of the random weights")->transform(whole_number(0));
  command->footer(
      "Example:\n  nyala new MobileNetV2 --output m.keras --input-shape 96,96,3 --classes 10 --alpha 0.35");
  command->callback([options] { make(*options); });
}

}  // namespace nyala::tools
