#include <iostream>
#include <memory>

#include <nyala/backend/core/printable.h>
#include <nyala/files/json/json.h>
#include <nyala/tools/command.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

namespace {

struct EvaluateOptions {
  std::string model, dtype_policy;
  std::vector<std::string> inputs, targets, sample_weights;
  int64_t batch_size = 32;
  bool json = false;
};

void evaluate(const EvaluateOptions& options) {
  const Model model = load_model(options.model, {.dtype_policy = options.dtype_policy});
  const Tensors x = load_arrays(options.inputs, input_names(model), "--input");
  const Tensors y = load_arrays(options.targets, output_names(model), "--target");
  EvaluateConfig config{.batch_size = options.batch_size, .verbose = on_terminal() && !options.json ? 1 : 0};
  std::vector<Tensor> weights;
  for (const std::string& path : options.sample_weights) weights.push_back(load_npy(path));
  config.sample_weight = PerOutput<Tensor>(std::move(weights));
  const Logs logs = naming_arrays({options.inputs, options.targets, options.sample_weights},
                                  [&] { return model.evaluate(x, y, config); });
  Json out = Json::object();
  for (const auto& [name, value] : logs)
    if (const std::vector<double> all = logs.values(name); all.size() == 1)
      out[name] = value;
    else
      out[name] = all;
  if (options.json) {
    std::cout << out.dump() << "\n";
    return;
  }
  for (const auto& [name, value] : out.items()) std::cout << printable(name) << ": " << value << "\n";
}

}  // namespace

void add_evaluate(CLI::App& app) {
  const auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command = app.add_subcommand("evaluate", "Loss and metrics of the model on data.");
  command->add_option("model", options->model, "a compiled .keras or whole-model .h5 file")->required();
  repeated(command->add_option("--input", options->inputs, "X.npy, or name=X.npy; once per input"))
      ->required();
  repeated(command->add_option("--target", options->targets, "Y.npy, or name=Y.npy; once per output"))
      ->required();
  repeated(command->add_option("--sample-weight", options->sample_weights,
                               "W.npy, for all outputs or once for each"));
  command->add_option("--batch-size", options->batch_size, "rows at a time")
      ->transform(whole_number(1))
      ->capture_default_str();
  add_dtype_policy_option(*command, options->dtype_policy);
  command->add_flag("--json", options->json, "the logs as one JSON object on the last line");
  command->footer("Example:\n  nyala evaluate model.keras --input x.npy --target y.npy --json");
  command->callback([options] { evaluate(*options); });
}

}  // namespace nyala::tools
