#include <nyala/strategies/communicators/process_communicators.h>

#include <nyala/strategies/communicators/shared_memory_communicator.h>

namespace nyala {

ProcessCommunicators processes_on_one_host(CommunicatorOptions options, Rendezvous& rendezvous) {
  ProcessCommunicators made;
  options.name = "steps";
  made.steps = shared_memory_communicator(options, rendezvous);
  options.name = "gradients";
  made.gradients = shared_memory_communicator(options, rendezvous);
  return made;
}

}  // namespace nyala
