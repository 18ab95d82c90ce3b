// fault_worker FOLDER: a worker or a server of the tests of lost processes (tests/support/fault_program.h).
#include <cstdio>

#include <nyala/tests/support/fault_program.h>

using namespace nyala;

int main(int, char** arguments) {
  try {
    if (is_parameter_server()) return serve_parameters();
    const FaultProgram program(ParameterServerStrategy({.timeout = std::chrono::seconds(20)}), arguments[1]);
    return program.coordinator.serve() ? 0 : 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fault_worker: %s\n", error.what());
    return 5;
  }
}
