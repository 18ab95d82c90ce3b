// How long the control plane takes to form a generation: threads that speak its protocol on the loopback,
// each over a connection of its own.
//   control_plane [workers = 1000]
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/control/control_client.h>
#include <nyala/strategies/control/control_server.h>

int main(int count, char** arguments) {
  using namespace nyala;
  using Clock = std::chrono::steady_clock;
  const int workers = count > 1 ? std::atoi(arguments[1]) : 1000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const detail::ControlServer server({"127.0.0.1", 0}, {}, {.size = workers});
  std::atomic<int> joined{0}, failed{0};
  const auto begin = Clock::now();
  std::atomic<Clock::duration> formed{Clock::duration::zero()};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank)
    threads.emplace_back([&, rank] {
      try {
        detail::ControlClient client({.address = server.address(), .rank = rank, .size = workers});
        if (++joined == workers) formed = Clock::now() - begin;
        client.barrier("end");
      } catch (const Error& error) {
        if (++failed == 1) std::cerr << error.what() << "\n";
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::cout << workers << " workers: a generation in " << std::chrono::duration<double>(formed.load()).count()
            << " s, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
