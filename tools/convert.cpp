#include <memory>

#include <nyala/tools/command.h>

namespace nyala::tools {

namespace {

struct Options {
  std::string in, out;
};

void convert(const Options& options) {
  const Model model = load_model(options.in);
  if (options.out.ends_with(".weights.h5"))
    model.save_weights(options.out);
  else
    model.save(options.out);
}

}  // namespace

void add_convert(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("convert", "Writes a model in another format.");
  command->add_option("in", options->in, "a .keras or whole-model .h5 file of any Keras")->required();
  command->add_option("out", options->out, "a .keras file, or .weights.h5 for the weights alone")->required();
  command->footer("Example:\n  nyala convert old_keras1_model.h5 model.keras");
  command->callback([options] { convert(*options); });
}

}  // namespace nyala::tools
