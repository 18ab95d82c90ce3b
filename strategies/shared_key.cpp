#include <nyala/strategies/shared_key.h>

#include <bit>

#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

uint64_t detail::next_shared_key(StrategyNode& strategy) {
  const uint64_t own = next_unseeded_key();
  ProcessExchange* const processes = strategy.processes();
  if (!processes) return own;
  const Tensor shared = Tensor::from(std::vector<int64_t>{std::bit_cast<int64_t>(own)}, Shape{1}, Device{});
  processes->broadcast(shared, "a seed");
  return std::bit_cast<uint64_t>(shared.to_vector<int64_t>()[0]);
}

}  // namespace nyala
