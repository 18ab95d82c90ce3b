#include <nyala/api/callbacks/sidecar_evaluator.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>

#include <nyala/api/training/evaluate.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/base/folder.h>

namespace nyala {

using namespace nyala::detail;

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks(200);
constexpr std::chrono::seconds kBetweenWarnings(30);

struct NumberedFile {
  int64_t number = -1;
  std::string path = {};
};

/// The 12 of "ckpt-12.weights.h5".
std::optional<int64_t> number_of(std::string_view name) {
  constexpr std::string_view before = "ckpt-";
  if (!name.starts_with(before)) return std::nullopt;
  name.remove_prefix(before.size());
  int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const std::string_view ending(end, static_cast<size_t>(name.data() + name.size() - end));
  if (error != std::errc() || number < 0 || (ending != ".weights.h5" && ending != ".keras"))
    return std::nullopt;
  return number;
}

/// The file with the highest number; none: -1. A folder that is not there yet has none.
NumberedFile newest_in(const std::string& folder) {
  NumberedFile newest;
  if (!is_there(folder)) return newest;
  for (const std::string& name : names_in_folder(folder)) {
    const std::optional<int64_t> number = number_of(name);
    if (number && *number > newest.number) newest = {*number, folder + "/" + name};
  }
  return newest;
}

/// The newest file once there is one with a higher number than `seen`.
NumberedFile wait_for_newer(int64_t seen, const std::string& folder, std::chrono::milliseconds timeout) {
  const Clock::time_point begun = Clock::now();
  Clock::time_point warned = begun;
  while (true) {
    const NumberedFile newest = newest_in(folder);
    if (newest.number > seen) return newest;
    const Clock::time_point now = Clock::now();
    if (timeout.count() > 0 && now - begun >= timeout)
      throw TimeoutError("SidecarEvaluator: no new checkpoint in '" + folder + "' for " +
                         std::to_string(timeout.count()) +
                         " ms; expected ckpt-<number>.weights.h5 or .keras" +
                         (seen < 0 ? "" : " with a number above " + std::to_string(seen)));
    if (now - warned >= kBetweenWarnings) {
      warned = now;
      log(LogChannel::warning, "SidecarEvaluator: no new checkpoint in '" + folder +
                                   "' for 30 seconds; does training write them, by ModelCheckpoint(\"" +
                                   folder + "/ckpt-{epoch}.weights.h5\", {.save_weights_only = true})?");
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

/// False where the file has been removed meanwhile.
bool load(const Model& model, const std::string& path) {
  try {
    model.load_weights(path);
    return true;
  } catch (const Error&) {
    std::error_code error;
    if (fs::exists(path, error)) throw;
    log(LogChannel::info, "SidecarEvaluator: '" + path + "' was removed before it was read");
    return false;
  }
}

}  // namespace

SidecarEvaluator::SidecarEvaluator(Model model, DataArgument data, std::string checkpoint_dir, Config config)
    : model_(std::move(model)),
      data_(std::move(data)),
      checkpoint_dir_(std::move(checkpoint_dir)),
      config_(std::move(config)) {
  if (!data_) throw InvalidArgumentError("SidecarEvaluator: expected data to evaluate with, received none");
  if (checkpoint_dir_.empty()) throw InvalidArgumentError("SidecarEvaluator: expected the path of a folder");
  (void)checked_path(checkpoint_dir_);
  if (config_.steps < 0 || config_.max_evaluations < 0 || config_.timeout.count() < 0)
    throw InvalidArgumentError("SidecarEvaluator: steps, max_evaluations and timeout cannot be negative");
}

Logs SidecarEvaluator::start() {
  compiled_training_of(model_, "SidecarEvaluator");
  Logs logs;
  for (int64_t seen = -1; config_.max_evaluations == 0 || seen < config_.max_evaluations;) {
    const NumberedFile checkpoint = wait_for_newer(seen, checkpoint_dir_, config_.timeout);
    if (!load(model_, checkpoint.path)) continue;
    seen = checkpoint.number;
    log(LogChannel::info, "SidecarEvaluator: evaluating '" + checkpoint.path + "'");
    logs =
        evaluate_data(model_, data_, {.verbose = 2, .steps = config_.steps, .callbacks = config_.callbacks});
  }
  return logs;
}

}  // namespace nyala
