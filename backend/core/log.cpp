#include <nyala/backend/core/log.h>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/mutex.h>
#include <nyala/backend/core/printable.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr std::array<std::string_view, 5> kNames = {"error", "warning", "info", "debug", "kernels"};

unsigned bit(LogChannel channel) { return 1u << static_cast<unsigned>(channel); }

unsigned parse_channels(std::string_view text) {
  unsigned open = bit(LogChannel::error) | bit(LogChannel::warning);
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (name.empty()) continue;
    if (name == "off") return 0;
    bool known = false;
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (kNames[i] != name) continue;
      open |= 1u << i;
      known = true;
    }
    if (!known) {
      const std::vector<std::string> names(kNames.begin(), kNames.end());
      throw InvalidArgumentError("unknown log channel " + in_quotes(name) + did_you_mean(name, names) +
                                 "; there are " + quoted_list(names) + " and 'off'");
    }
  }
  return open;
}

struct Log {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::atomic<unsigned> open;
  std::shared_ptr<const std::function<void(LogChannel, std::string_view)>> sink;  // null: standard error
  std::atomic<std::thread::id> runs_sink;
  std::shared_ptr<spdlog::logger> logger;

  Log() : open(bit(LogChannel::error) | bit(LogChannel::warning)) {
    // Its own lock would not be whole after fork(); `mutex` is.
    logger =
        std::make_shared<spdlog::logger>("nyala", std::make_shared<spdlog::sinks::stderr_color_sink_st>());
    logger->set_pattern("[%n %^%l%$] %v");
    logger->set_level(spdlog::level::trace);
    if (const char* text = std::getenv("NYALA_LOG")) {
      try {
        open = parse_channels(text);
      } catch (const InvalidArgumentError& error) {  // a typo in the environment must not stop the program
        logger->warn("NYALA_LOG: {}", error.what());
      }
    }
  }
};

Log& instance() {
  static Log& log = *new Log;
  return log;
}

spdlog::level::level_enum level_of(LogChannel channel) {
  switch (channel) {
    case LogChannel::error:
      return spdlog::level::err;
    case LogChannel::warning:
      return spdlog::level::warn;
    case LogChannel::info:
      return spdlog::level::info;
    default:
      return spdlog::level::debug;
  }
}

/// Under the lock. What the sink itself logs goes to standard error.
class RunningSink {
 public:
  explicit RunningSink(Log& state) : state_(state) { state_.runs_sink = std::this_thread::get_id(); }
  ~RunningSink() { state_.runs_sink = std::thread::id(); }
  RunningSink(const RunningSink&) = delete;
  RunningSink& operator=(const RunningSink&) = delete;

 private:
  Log& state_;
};

bool is_inside_sink(const Log& state) { return state.runs_sink.load() == std::this_thread::get_id(); }

std::unique_lock<Mutex> lock_outside_sink(Log& state) {
  return is_inside_sink(state) ? std::unique_lock<Mutex>() : std::unique_lock(state.mutex);
}

}  // namespace

bool log_enabled(LogChannel channel) {
  return (instance().open.load(std::memory_order_relaxed) & bit(channel)) != 0;
}

void log(LogChannel channel, std::string_view message) {
  if (!log_enabled(channel)) return;
  Log& state = instance();
  const auto lock = lock_outside_sink(state);
  const auto sink = is_inside_sink(state) ? nullptr : state.sink;
  if (!sink) return state.logger->log(level_of(channel), printable(message, true));
  const RunningSink running(state);
  (*sink)(channel, message);
}

void set_log_level(std::string_view channels) { instance().open = parse_channels(channels); }

void set_log_sink(std::function<void(LogChannel, std::string_view)> sink) {
  Log& state = instance();
  const auto lock = lock_outside_sink(state);
  state.sink = sink ? std::make_shared<const decltype(sink)>(std::move(sink)) : nullptr;
}

}  // namespace nyala
