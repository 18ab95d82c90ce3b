#include <memory>

#include <nyala/tools/command.h>

namespace nyala::tools {

namespace {

struct ServeOptions {
  std::string snapshots;
};

void serve(const ServeOptions& options) {
  if (!is_parameter_server())
    throw InvalidArgumentError(
        "serve: this process is no parameter server: expected TF_CONFIG with a cluster and a task of type ps "
        "(nyala launch --ps starts one for each server)");
  if (const int status = serve_parameters({.snapshot_folder = options.snapshots})) throw ExitStatus{status};
}

}  // namespace

void add_serve(CLI::App& app) {
  const auto o = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand(
      "serve",
      "A parameter server of a cluster, for programs with Keras' optimizers; its place is in TF_CONFIG.");
  command->add_option(
      "--snapshots", o->snapshots,
      "a folder for what it goes on from when it is started again, instead of NYALA_SNAPSHOTS");
  command->footer(
      "Example:\n  TF_CONFIG='{\"cluster\": {...}, \"task\": {\"type\": \"ps\", \"index\": 0}}' nyala serve");
  command->callback([o] { serve(*o); });
}

}  // namespace nyala::tools
