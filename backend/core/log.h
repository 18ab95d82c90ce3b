#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace nyala {

/// Log channels. `NYALA_LOG=info,kernels` in the environment opens them; warnings and errors are open always.
enum class LogChannel { error, warning, info, debug, kernels };

/// True if messages of `channel` go anywhere: check before building an expensive text.
bool log_enabled(LogChannel channel);

/// Writes one line to the log (standard error through spdlog, or the sink that was set). Thread-safe.
void log(LogChannel channel, std::string_view message);

/// Opens exactly the channels named in `channels` ("info,kernels"), besides warnings and errors; "off" closes
/// all. Throws InvalidArgumentError for an unknown name.
void set_log_level(std::string_view channels);

/// Sends every message to `sink` instead; an empty function restores the default. One message at a time; what
/// a sink itself makes Nyala log goes to standard error.
void set_log_sink(std::function<void(LogChannel, std::string_view)> sink);

}  // namespace nyala
