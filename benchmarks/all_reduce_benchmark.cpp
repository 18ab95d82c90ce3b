// The in-process all-reduce of two replicas with separate storage against a plain loop over two buffers.
//   all_reduce_benchmark [--benchmark_filter=...]; NYALA_THREADS sets the team (default: all cores).
#include <benchmark/benchmark.h>

#include <omp.h>

#include <cstdlib>
#include <vector>

#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/strategies/comm/all_reduce.h>

namespace nyala {
namespace {

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<int64_t>(sizeof(float)));
}

std::vector<Tensor> buffers(int64_t elements) {
  return {Tensor::full({elements}, 1.0), Tensor::full({elements}, 0.0)};
}

void library(benchmark::State& state) {
  const std::vector<Tensor> both = buffers(state.range(0));
  for (auto _ : state) all_reduce_sum(both, true);
  count_bytes(state);
}

void plain_loop(benchmark::State& state) {
  const std::vector<Tensor> both = buffers(state.range(0));
  float* a = both[0].raw_as<float>();
  float* b = both[1].raw_as<float>();
  const int64_t count = state.range(0);
  for (auto _ : state) {
#pragma omp parallel for simd num_threads(compute_threads())
    for (int64_t i = 0; i < count; ++i) a[i] = b[i] = a[i] + b[i];
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

// 0.5 MB, 14 MB and 102 MB: the gradients of LeNet, MobileNetV2 and ResNet-50.
BENCHMARK(library)->Name("all_reduce/library")->Arg(1 << 17)->Arg(3504872)->Arg(25557032)->UseRealTime();
BENCHMARK(plain_loop)
    ->Name("all_reduce/plain_loop")
    ->Arg(1 << 17)
    ->Arg(3504872)
    ->Arg(25557032)
    ->UseRealTime();

}  // namespace
}  // namespace nyala

int main(int argc, char** argv) {
  if (const char* threads = std::getenv("NYALA_THREADS"))
    nyala::thread_context().compute_threads = std::atoi(threads);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
