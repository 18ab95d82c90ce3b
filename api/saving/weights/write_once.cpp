#include <nyala/api/saving/weights/write_once.h>

#include <nyala/api/training/call_of_all.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/runtime/process_exchange.h>
#include <nyala/strategies/parameter_server/parameter_server_job.h>
#include <nyala/strategies/process_generations.h>
#include <nyala/strategies/strategy_node.h>

namespace nyala {

namespace {

/// Rank 0 says whether it has written, the others learn it: "" or why not.
class Outcome {
 public:
  explicit Outcome(ProcessExchange& processes) : processes_(processes) {}

  std::string agreed(const std::string& of_this_one) {
    const int64_t bytes = number_of_first(std::ssize(of_this_one));
    if (bytes == 0) return "";
    std::vector<uint8_t> text(of_this_one.begin(), of_this_one.end());
    text.resize(static_cast<size_t>(bytes));
    const Tensor sent = Tensor::from(text, Shape{bytes}, Device{});
    processes_.broadcast(sent, kWhat);
    text = sent.to_vector<uint8_t>();
    try {
      number_of_first(0);  // who throws now, and ends it all, does so when all have the text
    } catch (const CommunicationError&) {
    }
    return {text.begin(), text.end()};
  }
  /// Why this process could not write is more than that nobody hears of it.
  void tell(std::string failure) noexcept {
    try {
      agreed(failure.empty() ? "an error without a text" : failure.substr(0, 4096));
    } catch (const std::exception&) {
    }
  }

 private:
  static constexpr const char* kWhat = "writing a file";
  int64_t number_of_first(int64_t own) {
    const Tensor number = Tensor::from(std::vector<int64_t>{own}, Shape{1}, Device{});
    processes_.broadcast(number, kWhat);
    return number.to_vector<int64_t>()[0];
  }

  ProcessExchange& processes_;
};

}  // namespace

namespace {

/// Of a strategy with parameter servers the chief writes.
bool leaves_it_to_the_chief(const ModelNode& model) {
  detail::ParameterServerJob* const job = model.strategy()->parameter_server_job();
  return job && !job->is_chief();
}

}  // namespace

bool writes_files(const ModelNode& model) {
  if (leaves_it_to_the_chief(model)) return false;
  ProcessExchange* const processes = model.strategy()->processes();
  return !processes || processes->rank() == 0;
}

bool takes_over_training(const ModelNode& model) {
  ProcessGenerations* const generations = model.strategy()->generations();
  return generations && generations->link().is_apart();
}

bool goes_on_elsewhere(const ModelNode& model) { return model.strategy()->generations() != nullptr; }

void write_with_all(const Model& model, const std::string& path, const std::function<void()>& write) {
  detail::ParameterServerJob* const job = model.model_node().strategy()->parameter_server_job();
  model.model_node().strategy()->end_pass();  // in the middle of a walk optimizers have what they had before
  if (!leaves_it_to_the_chief(model.model_node()))
    make_with_all(model,
                  {.what = "save", .make = write, .pass_over = [&](ProcessGenerations&, int64_t) {
                     log(LogChannel::info,
                         detail::in_quotes(path) +
                             " is not written again: the others were beyond that when this process was "
                             "started again");
                   }});
  if (job) job->share_file(path);
}

void write_once(const ModelNode& model, const std::function<void()>& write) {
  ProcessExchange* const processes = model.strategy()->processes();
  if (!processes) return write();
  Outcome outcome(*processes);
  if (processes->rank() > 0) {
    const std::string why = outcome.agreed("");
    if (why.empty()) return;
    throw CommunicationError("model " + detail::in_quotes(model.name()) +
                             ": rank 0 could not write its file: " + why);
  }
  try {
    write();
  } catch (const std::exception& error) {
    outcome.tell(error.what());
    throw;
  } catch (...) {
    outcome.tell("an exception that is no std::exception");
    throw;
  }
  outcome.agreed("");
}

}  // namespace nyala
