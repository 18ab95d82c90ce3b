// Every cross-device op among replicas with separate storage, next to a plain loop over the same buffers and
// to what the memory gives.
//   all_reduce_benchmark [--benchmark_filter=...]; NYALA_THREADS sets the team (default: all cores).
// bytes_per_second counts the bytes of one buffer. An in-place all-reduce of N replicas reads and writes N
// buffers: the memory limit for N replicas is that of "copy" (which reads one and writes one) divided by N.
#include <benchmark/benchmark.h>

#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <nyala/backend/runtime/context.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/strategies/cross_device/all.h>

namespace nyala {
namespace {

constexpr int kMostReplicas = 8;

Tensors buffers(const benchmark::State& state) {
  Tensors list;
  for (int i = 0; i < static_cast<int>(state.range(1)); ++i)
    list.push_back(
        Tensor::full({state.range(0) / 4}, i == 0 ? 1.0 : 0.0, DType::float32, Device(DeviceKind::cpu, i)));
  return list;
}

void count_bytes(benchmark::State& state) { state.SetBytesProcessed(state.iterations() * state.range(0)); }

template <class Ops>
void all_reduce(benchmark::State& state) {
  const Tensors replicas = buffers(state);
  const Ops ops;
  for (auto _ : state) ops.all_reduce(ReduceOp::sum, replicas, true);
  count_bytes(state);
}

/// One pass over N buffers of known N: as fast as a program would write it by hand.
template <size_t... kReplica>
void sum_by_hand(const std::vector<float*>& data, int64_t begin, int64_t end,
                 std::index_sequence<kReplica...>) {
  float* const at[] = {data[kReplica]...};
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float sum = (... + at[kReplica][i]);
    ((at[kReplica][i] = sum), ...);
  }
}

template <int N>
void plain_loop_of(benchmark::State& state) {
  const Tensors replicas = buffers(state);
  std::vector<float*> data;
  for (const Tensor& replica : replicas) data.push_back(replica.raw_as<float>());
  const int64_t count = state.range(0) / 4;
  const int team = count * N > kParallelGrain ? compute_threads() : 1;
  for (auto _ : state) {
#pragma omp parallel num_threads(team)
    {
      const int64_t parts = omp_get_num_threads(), id = omp_get_thread_num();
      sum_by_hand(data, count * id / parts, count * (id + 1) / parts, std::make_index_sequence<N>());
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void plain_loop(benchmark::State& state) {
  if (state.range(1) == 2) return plain_loop_of<2>(state);
  if (state.range(1) == 4) return plain_loop_of<4>(state);
  return plain_loop_of<8>(state);
}

void copy(benchmark::State& state) {
  const Tensors pair = buffers(state);
  const int64_t count = state.range(0);
  for (auto _ : state) {
#pragma omp parallel num_threads(compute_threads())
    {
      const int64_t parts = omp_get_num_threads(), id = omp_get_thread_num();
      const int64_t begin = count * id / parts, end = count * (id + 1) / parts;
      std::memcpy(pair[1].raw_as<char>() + begin, pair[0].raw_as<char>() + begin,
                  static_cast<size_t>(end - begin));
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

// 4 KB and 1 MB: a bias, ResNet-20; 14 MB and 102 MB: MobileNetV2, ResNet-50.
const std::vector<int64_t> kSizes{4096, 1 << 20, 3504872 * 4, 25557032 * 4};

void sizes_and_replicas(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({kSizes, {2, 4, kMostReplicas}})->ArgNames({"bytes", "replicas"})->UseRealTime();
}

BENCHMARK(all_reduce<DirectAllReduce>)->Name("DirectAllReduce")->Apply(sizes_and_replicas);
BENCHMARK(plain_loop)->Name("plain_loop")->Apply(sizes_and_replicas);
BENCHMARK(all_reduce<RingAllReduce>)->Name("RingAllReduce")->Apply(sizes_and_replicas);
BENCHMARK(all_reduce<HierarchicalCopyAllReduce>)
    ->Name("HierarchicalCopyAllReduce")
    ->Apply(sizes_and_replicas);
BENCHMARK(all_reduce<ReductionToOneDevice>)->Name("ReductionToOneDevice")->Apply(sizes_and_replicas);
BENCHMARK(copy)->Name("copy")->ArgsProduct({kSizes, {2}})->ArgNames({"bytes", "replicas"})->UseRealTime();

}  // namespace
}  // namespace nyala

int main(int argc, char** argv) {
  nyala::configure_logical_devices("cpu", 8);
  nyala::detail::thread_context().compute_threads = nyala::available_cores();
  if (const char* threads = std::getenv("NYALA_THREADS"))
    nyala::detail::thread_context().compute_threads = std::atoi(threads);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
