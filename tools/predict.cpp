#include <memory>

#include <nyala/tools/command.h>

namespace nyala::tools {

namespace {

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  std::string output;
  int64_t batch_size = 32;
};

void predict(const Options& options) {
  check_output(options.output, {".npy", ".npz"});
  const Model model = load_model(options.model, {.compile = false});
  const Tensors x = load_arrays(options.inputs, input_names(model), "--input");
  const Tensors y = model.predict_all(x, {.batch_size = options.batch_size, .verbose = 0});
  if (y.size() == 1 && !options.output.ends_with(".npz")) {
    save_npy(options.output, y[0]);
    return;
  }
  const std::vector<std::string> names = output_names(model, y.size());
  NamedArrays named;
  for (size_t i = 0; i < y.size(); ++i) named.emplace_back(names.at(i), y[i]);
  save_npz(options.output, named);
}

}  // namespace

void add_predict(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("predict", "Writes what the model gives for each row of its input.");
  command->add_option("model", options->model, "a .keras or whole-model .h5 file")->required();
  command
      ->add_option("--input", options->inputs, "X.npy, or name=X.npy; once per input, in the model's order")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--output", options->output, "Y.npy; an .npz by output name where there are several")
      ->required();
  command->add_option("--batch-size", options->batch_size, "rows at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->footer("Example:\n  nyala predict model.keras --input x.npy --output y.npy");
  command->callback([options] { predict(*options); });
}

}  // namespace nyala::tools
