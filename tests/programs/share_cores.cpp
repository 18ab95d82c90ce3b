// share_cores <0 or 1>: works by teams of two threads on cores that busy threads use, too. Ends with status 0
// when idle threads block in the end (1) or never do (0), as the argument wants, else with 1.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/runtime/busy_cores.h>
#include <nyala/backend/runtime/context.h>

namespace {

using Clock = std::chrono::steady_clock;

/// A team's work, until idle threads block or time is up.
void work(std::chrono::seconds limit) {
  const nyala::Tensor x = nyala::Tensor::from(std::vector<float>(256 * 256, 0.5f), {256, 256});
  const auto start = Clock::now();
  while (!nyala::idle_threads_block() && Clock::now() - start < limit) nyala::ops::matmul(x, x);
}

}  // namespace

int main(int count, char** arguments) {
  const bool wanted = count > 1 && std::string(arguments[1]) == "1";
  nyala::detail::thread_context().compute_threads = 2;
  std::atomic<bool> done{false};
  std::vector<std::thread> busy;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i)
    busy.emplace_back([&] {
      while (!done.load(std::memory_order_relaxed)) {
      }
    });
  work(std::chrono::seconds(wanted ? 60 : 1));
  const bool blocked = nyala::idle_threads_block();
  done = true;
  for (std::thread& thread : busy) thread.join();
  return blocked == wanted ? 0 : 1;
}
