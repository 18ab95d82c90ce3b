#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>

#include <nyala/files/base/file_bytes.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/tools/architecture.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

using namespace nyala::detail;

namespace {

struct ConvertOptions {
  std::string in, out, model;
  ArchitectureOptions architecture;
  std::vector<std::string> given = {};  // names of the architecture's options
};

/// From the JSON of to_json, or from a whole model's file.
Model architecture_of(const std::string& path) {
  const auto file = FileBytes::open(path);
  const auto text = [&](uint64_t length) {
    return std::string_view(reinterpret_cast<const char*>(file->part(0, length).data()), length);
  };
  const std::string_view content = text(std::min<uint64_t>(file->size(), 4096));
  const size_t begin = content.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && content[begin] == '{') {
    try {
      return model_from_json(std::string(text(file->size())));
    } catch (const Error&) {
      rethrow_with_prefix(path + ": ");
    }
  }
  return load_model(path, {.compile = false});
}

Model model_of(const ConvertOptions& options) {
  if (options.model.empty()) {
    if (holds_model(options.in)) return load_model(options.in);
    throw InvalidArgumentError("'" + options.in +
                               "' holds weights alone: name the model that they are of with --model "
                               "(a .keras, whole-model .h5 or .json file, or an architecture: MobileNetV2)");
  }
  if (!is_there(options.model)) {
    ArchitectureOptions architecture = options.architecture;
    architecture.name = options.model;
    architecture.weights = options.in;
    try {
      applications::find_application(options.model);
    } catch (const NotFoundError&) {
      rethrow_with_prefix("--model: there is no such file; ");
    }
    return make_architecture(architecture);
  }
  const Model model = architecture_of(options.model);
  model.load_weights(options.in);
  return model;
}

/// What would say nothing is an error that says what belongs together.
void check_options(const ConvertOptions& options) {
  if (!options.given.empty() && (options.model.empty() || is_there(options.model)))
    throw InvalidArgumentError("convert: " + quoted_list(options.given) +
                               ": for an architecture that --model names, and no file");
}

void convert(const ConvertOptions& options) {
  check_options(options);
  check_model_output(options.out);
  write_model(model_of(options), options.out);
}

}  // namespace

void add_convert(CLI::App& app) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand("convert", "Writes a model, or its weights, in another format.");
  command->add_option("in", options->in, "a .keras, .h5, .weights.h5, .safetensors or .npz file of any Keras")
      ->required();
  command
      ->add_option("out", options->out,
                   "a .keras or .h5 file, or .weights.h5, .safetensors or .npz for the weights alone")
      ->required();
  command->add_option(
      "--model", options->model,
      "what the weights are of, where IN is weights alone: a .keras, whole-model .h5 or .json "
      "file, or an architecture of keras.applications with the options below");
  add_architecture_options(*command, options->architecture);
  command->footer(
      "Examples:\n  nyala convert old_keras1_model.h5 model.keras\n"
      "  nyala convert model.keras weights.safetensors\n"
      "  nyala convert weights.safetensors tuned.keras --model model.keras\n"
      "  nyala convert mobilenet_v2_no_top.h5 base.keras --model MobileNetV2 --alpha 0.35 --no-top "
      "--input-shape 128,128,3");
  command->callback([options, command] {
    options->given = given_architecture_options(*command);
    convert(*options);
  });
}

}  // namespace nyala::tools
