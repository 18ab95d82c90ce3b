// attack_memory_again [failed trainings, 200] [MiB of address space, 300] [seed, 1]
//
// One process, whose address space is limited to so much more than it has at first, tries again and again to
// train and to predict with models that do not fit, on one device and on two. Each try has to end in
// OutOfMemoryError, or to fit; a small model has to train between the tries as it did before them. To be run
// with MALLOC_ARENA_MAX=1 (docs/serving.md).
#include <nyala/tests/attack/memory_work.h>

#include <sys/resource.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <nyala/backend/core/error.h>

namespace attack {

namespace {

int attack_again(int tries, size_t megabytes, unsigned seed) {
  std::vector<double> first, numbers;
  train_smaller(first);
  const rlim_t room = static_cast<rlim_t>(megabytes) << 20;
  const rlimit limit{of_process("VmSize") + room, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  std::mt19937 random(seed);
  int failed = 0, bad = 0;
  for (int i = 0; i < tries; ++i) {
    Work work{.task = random() % 3 == 0 ? Task::predict : Task::train};
    work.devices = 1 + static_cast<int>(random() % 2);
    work.size = 2 + static_cast<int>(random() % 7);
    try {
      do_work(work, numbers);
    } catch (const nyala::OutOfMemoryError&) {
      ++failed;
    } catch (const std::exception& error) {
      ++bad;
      std::printf("try %d: %s\n", i, error.what());
    }
    numbers.clear();
    if (i % 10 != 9) continue;
    try {
      train_smaller(numbers);
      bool same = numbers.size() == first.size();
      for (size_t n = 0; same && n < numbers.size(); ++n) same = std::abs(numbers[n] - first[n]) < 1e-5;
      if (!same) std::printf("after try %d the small model has other numbers\n", i);
      bad += same ? 0 : 1;
    } catch (const std::exception& error) {
      ++bad;
      std::printf("after try %d of which %d failed: %s\n", i, failed, error.what());
    }
    if (std::getenv("VERBOSE"))
      std::printf("%d: size %zu MiB, rss %zu, threads %zu\n", i, of_process("VmSize") >> 20,
                  of_process("VmRSS") >> 20, of_process("Threads") / 1024);
    numbers.clear();
  }
  std::printf("%d tries with %zu MiB, seed %u: %d ran out of memory, %d failures\n", tries, megabytes, seed,
              failed, bad);
  return bad == 0 && failed > 0 ? 0 : 1;
}

}  // namespace

}  // namespace attack

int main(int count, char** arguments) {
  const int tries = count > 1 ? std::atoi(arguments[1]) : 200;
  const size_t megabytes = count > 2 ? static_cast<size_t>(std::atoi(arguments[2])) : 300;
  const unsigned seed = count > 3 ? static_cast<unsigned>(std::atoi(arguments[3])) : 1;
  return attack::attack_again(tries, megabytes, seed);
}
