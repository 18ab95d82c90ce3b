// The time of an all-reduce of float32 among processes of this host, beside that of a plain loop over two
// buffers in one process and the load of the machine:
//   communicator_benchmark [shared_memory|gloo|gloo_alone] [ranks] [float32|bfloat16]
// gloo_alone is Gloo's own ring, by the same number of processes. The dtype is that in which float32 values
// travel (CommunicationOptions::wire_dtype).
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#ifdef NYALA_BENCHMARK_GLOO
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#endif

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/communicators/shared_memory_communicator.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Times {
  double least, median;  // microseconds
};

Times measure(int times, const std::function<void()>& body) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const auto begun = Clock::now();
    body();
    all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begun).count());
  }
  std::sort(all.begin(), all.end());
  return {all.front(), all[all.size() / 2]};
}

void print(const char* what, size_t bytes, const Times& times) {
  std::printf("%-24s %11zu bytes  median %9.1f us  least %9.1f us  %6.2f GB/s\n", what, bytes, times.median,
              times.least, static_cast<double>(bytes) / times.median / 1e3);
}

/// Two ways to the same sum.
struct Ranks {
  std::string name;
  int rank;
  std::function<void()> barrier;
  std::function<void(std::vector<float>&)> all_reduce;
};

void work(const Ranks& all) {
  for (const size_t count : {size_t{65}, size_t{68'000}, size_t{3'675'000}, size_t{25'000'000}}) {
    std::vector<float> values(count), others(count);
    const int times = static_cast<int>(std::clamp<size_t>(20'000'000 / count, 20, 3000));
    all.barrier();
    if (all.rank == 0) {
      const Times loop = measure(times, [&] {
        for (size_t i = 0; i < count; ++i) values[i] += others[i];
        asm volatile("" : : "r"(values.data()) : "memory");
      });
      print("two buffers, one process", count * sizeof(float), loop);
    }
    all.barrier();
    const Times times_of_all = measure(times, [&] { all.all_reduce(values); });
    if (all.rank == 0) print(all.name.c_str(), count * sizeof(float), times_of_all);
  }
}

void run_communicator(const std::string& kind, const nyala::CommunicatorOptions& options,
                      const std::string& folder, nyala::DType wire) {
  const auto rendezvous = std::make_shared<nyala::FileRendezvous>(folder);
  const auto all = kind == "gloo" ? nyala::gloo_communicator(options, rendezvous)
                                  : nyala::shared_memory_communicator(options, *rendezvous);
  if (options.rank == 0) std::printf("%s\n", all->describe().c_str());
  work({.name = kind + "/" + std::to_string(options.size),
        .rank = options.rank,
        .barrier = [&] { all->barrier(); },
        .all_reduce =
            [&](std::vector<float>& values) {
              all->all_reduce({values.data(), static_cast<int64_t>(values.size()), nyala::DType::float32},
                              nyala::CollectiveOp::sum, {.wire_dtype = wire});
            }});
}

#ifdef NYALA_BENCHMARK_GLOO
void run_gloo_alone(const nyala::CommunicatorOptions& options, const std::string& folder) {
  const auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.size);
  gloo::rendezvous::FileStore store(folder);
  auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
  context->connectFullMesh(store, device);
  work({.name = "gloo_alone/" + std::to_string(options.size),
        .rank = options.rank,
        .barrier =
            [&] {
              gloo::BarrierOptions how(context);
              gloo::barrier(how);
            },
        .all_reduce =
            [&](std::vector<float>& values) {
              gloo::AllreduceOptions how(context);
              how.setOutput(values.data(), values.size());
              how.setReduceFunction(
                  static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
              gloo::allreduce(how);
            }});
}
#endif

int run_rank(const std::string& kind, const nyala::CommunicatorOptions& options, const std::string& folder,
             const std::string& wire) {
  try {
#ifdef NYALA_BENCHMARK_GLOO
    if (kind == "gloo_alone") return run_gloo_alone(options, folder), 0;
#endif
    run_communicator(kind, options, folder, wire);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", options.rank, error.what());
    return 1;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string kind = count > 1 ? arguments[1] : "shared_memory";
  const int ranks = count > 2 ? std::atoi(arguments[2]) : 2;
  const std::string wire = count > 3 ? arguments[3] : "float32";
  std::string folder = (std::filesystem::temp_directory_path() / "nyala-communicators-XXXXXX").string();
  if (ranks < 1 || ::mkdtemp(folder.data()) == nullptr) return 1;
  double load = 0;
  ::getloadavg(&load, 1);
  std::printf("load of this machine: %.1f\n", load);
  std::fflush(stdout);
  int rank = 0;
  while (rank + 1 < ranks && ::fork() == 0) ++rank;  // each starts the next one
  const int code = run_rank(kind, {.rank = rank, .size = ranks}, folder, wire);
  while (::wait(nullptr) > 0) {
  }
  if (rank == 0) std::filesystem::remove_all(folder);
  return code;
}
