#include <nyala/api/saving/weights/write_once.h>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/process_generations.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

namespace {

/// Rank 0 says whether it has written, the others learn it.
bool is_written(ProcessExchange& processes, bool by_this_one) {
  const Tensor written = Tensor::from(std::vector<int64_t>{by_this_one}, Shape{1}, Device{});
  processes.broadcast(written, "writing a file");
  return written.to_vector<int64_t>()[0] != 0;
}

}  // namespace

bool writes_files(const ModelNode& model) {
  ProcessExchange* const processes = model.strategy()->processes();
  return !processes || processes->rank() == 0;
}

bool takes_over_training(const ModelNode& model) {
  ProcessGenerations* const generations = model.strategy()->generations();
  return generations && generations->link().is_apart();
}

void write_once(const ModelNode& model, const std::function<void()>& write) {
  ProcessExchange* const processes = model.strategy()->processes();
  if (!processes) return write();
  if (processes->rank() > 0) {
    if (is_written(*processes, true)) return;
    throw CommunicationError("model " + detail::in_quotes(model.name()) +
                             ": rank 0 could not write its file; it says why");
  }
  try {
    write();
  } catch (...) {
    is_written(*processes, false);
    throw;
  }
  is_written(*processes, true);
}

}  // namespace nyala
