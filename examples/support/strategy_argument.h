#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <nyala/api/serving/serve_parameters.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/examples/support/arguments.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/multi_worker.h>
#include <nyala/strategies/parameter_server_strategy.h>

namespace nyala::examples {

/// `--devices N`: a MirroredStrategy on N devices, into which the CPU is divided; with `--strategy
/// multi_worker` one over the processes of `nyala launch`, each with N devices, with `parameter_server` and
/// `synchronous_parameter_server` those of `nyala launch --ps`, whose servers end in here.
inline Strategy strategy_argument(int argc, char** argv, int otherwise = 1) {
  const int devices = static_cast<int>(number_argument(argc, argv, "--devices", otherwise));
  configure_logical_devices("cpu", devices);
  std::vector<std::string> names;
  for (int i = 0; i < devices; ++i) names.push_back("cpu:" + std::to_string(i));
  const std::string name = text_argument(argc, argv, "--strategy", "mirrored");
  if (name == "multi_worker") return MultiWorkerMirroredStrategy({.devices = names});
  if (name == "parameter_server" || name == "synchronous_parameter_server") {
    if (is_parameter_server()) std::exit(serve_parameters());
    return ParameterServerStrategy({.devices = names, .synchronous = name == "synchronous_parameter_server"});
  }
  return MirroredStrategy({.devices = names});
}

}  // namespace nyala::examples
