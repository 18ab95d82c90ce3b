#pragma once

#include <string>
#include <vector>

#include <nyala/backend/runtime/device_registry.h>
#include <nyala/examples/support/arguments.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/multi_worker.h>

namespace nyala::examples {

/// `--devices N`: a MirroredStrategy on N devices, into which the CPU is divided; with `--strategy
/// multi_worker` one over the processes of `nyala launch`, each with N devices.
inline Strategy strategy_argument(int argc, char** argv, int otherwise = 1) {
  const int devices = static_cast<int>(number_argument(argc, argv, "--devices", otherwise));
  configure_logical_devices("cpu", devices);
  std::vector<std::string> names;
  for (int i = 0; i < devices; ++i) names.push_back("cpu:" + std::to_string(i));
  if (text_argument(argc, argv, "--strategy", "mirrored") == "multi_worker")
    return MultiWorkerMirroredStrategy({.devices = names});
  return MirroredStrategy({.devices = names});
}

}  // namespace nyala::examples
