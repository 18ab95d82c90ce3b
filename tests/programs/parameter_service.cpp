// A parameter server for tests that kill it: parameter_service <file>. It writes its port into the file and
// does what calls say (told_service.h).
#include <unistd.h>

#include <fstream>

#include <nyala/tests/strategies/parameter_server/told_service.h>

int main(int, char** arguments) {
  using namespace nyala;
  parameter_transport_test::ToldService service;
  const auto listener = detail::listen_parameters({"127.0.0.1", 0}, {}, service);
  std::ofstream(arguments[1]) << listener->port() << "\n";
  for (;;) ::pause();
}
