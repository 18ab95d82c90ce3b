// One process of a cluster, for tests of the control plane: control_member <port> <rank> <size> <file>. It
// joins, writes its number into the file, waits at a barrier to which nobody comes, and says what ended it by
// its exit status: 3 for a lost process, 4 for another failure of communication.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_client.h>

int main(int, char** arguments) {
  using namespace nyala;
  const int rank = std::atoi(arguments[2]), size = std::atoi(arguments[3]);
  try {
    detail::ControlClient client({.address = {"127.0.0.1", std::atoi(arguments[1])},
                                  .rank = rank,
                                  .size = size,
                                  .timeout = std::chrono::seconds(60),
                                  .heartbeat = std::chrono::milliseconds(500)});
    std::ofstream(arguments[4]) << client.generation() << "\n";
    client.barrier(rank == 0 ? "one" : "other");
  } catch (const PeerLostError& error) {
    std::cerr << error.what() << "\n";
    return 3;
  } catch (const CommunicationError& error) {
    std::cerr << error.what() << "\n";
    return 4;
  }
  return 0;
}
