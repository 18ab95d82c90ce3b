#include <iostream>

#include <nyala/backend/kernels/cpu/onednn/onednn.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/tools/command.h>

namespace nyala::tools {

namespace {

void info() {
  std::cout << "nyala " << version() << "\n"
            << "compiler: " << __VERSION__ << "\n"
            << "oneDNN: " << onednn::version() << "\n"
            << "Gloo: " << (gloo_is_built() ? "built in" : "none (install libgloo-dev and build again)")
            << "\n"
            << "threads: " << available_cores() << "\n"
            << "devices:";
  for (const Device& device : list_logical_devices()) std::cout << " " << device.to_string();
  std::cout << "\n";
}

}  // namespace

void add_info(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "Version, build, libraries, devices and threads.");
  command->footer("Example:\n  nyala info");
  command->callback(info);
}

}  // namespace nyala::tools
