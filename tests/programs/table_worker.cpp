// One of the processes of a training whose embedding table lies on parameter servers alone:
// table_worker <rows> <columns> <bytes of address space for chief and workers> <epochs> <initializer>
// <optimizer>.
// Chief and workers say the loss and the most address space that they had.
#include <sys/resource.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <nyala/nyala.h>

using namespace nyala;

namespace {

/// "VmPeak:	  512340 kB" in /proc/self/status, in MB.
long peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmPeak:")) return std::atol(line.c_str() + 7) / 1000;
  return -1;
}

int train(int64_t rows, int64_t columns, int64_t epochs, const std::string& initializer,
          const Optimizer& optimizer) {
  const ParameterServerStrategy strategy(
      {.variable_partitioner = FixedShardsPartitioner(2), .timeout = std::chrono::seconds(120)});
  const auto scope = strategy.scope();
  const Sequential model({Input({4}, {.dtype = "int64"}),
                          Embedding(rows, columns, {.embeddings_initializer = initializer}), Flatten(),
                          Dense(1)});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  std::vector<int64_t> ids;
  std::vector<float> y;
  uint64_t draw = 1;
  for (int i = 0; i < 2048; ++i) {
    for (int j = 0; j < 4; ++j) {
      draw = draw * 6364136223846793005u + 1442695040888963407u;
      ids.push_back(static_cast<int64_t>((draw >> 33) % static_cast<uint64_t>(rows)));
    }
    y.push_back(ids.back() % 2 == 0 ? 1.0f : -1.0f);
  }
  const History history = model.fit(Tensor::from(ids, {2048, 4}), Tensor::from(y, {2048, 1}),
                                    {.batch_size = 256, .epochs = static_cast<int>(epochs), .verbose = 0});
  std::string whole = "read";
  try {
    (void)model.variables()[0].value();
  } catch (const OutOfMemoryError&) {
    whole = "larger than the memory";
  }
  std::printf("loss %.6f after %.6f, the whole table is %s, peak %ld MB\n", history["loss"].back(),
              history["loss"].front(), whole.c_str(), peak_megabytes());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) return 2;
  try {
    set_random_seed(3);
    if (is_parameter_server()) return serve_parameters();
    const auto bytes = static_cast<rlim_t>(std::atoll(arguments[3]));
    const rlimit limit{bytes, bytes};
    if (bytes > 0 && ::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    return train(std::atoll(arguments[1]), std::atoll(arguments[2]), std::atoll(arguments[4]), arguments[5],
                 arguments[6]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 5;
  }
}
